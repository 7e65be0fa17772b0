"""Messages and keys of run control's bus. Needs protobuf."""

from __future__ import annotations

import os
import struct
from functools import lru_cache
from typing import Any

from ._packages import need

# The part of proto/weir/v1/bus.proto that Python uses: message: "field number type" each, a star for repeated ones.
# A test compares names, numbers and types with the .proto file. Fields that are not listed are ignored, as Protocol
# Buffers ignores those of a newer peer; a dot in a name is a message inside another.
SCHEMA = {
    "BusMessage": "request 8 Request, reply 9 Reply",
    "Request": "id 1 uint64, command 2 string, run 3 uint32, sets 4 string*, nodes 5 string*, reason 6 string,"
    " level 7 string, tap 8 TapWish, signal 9 string, by 10 string, fields 31 Request.FieldsEntry*,"
    " sequence 50 Sequence",
    "Sequence": "id 1 string, name 2 string, runs 3 uint32, good 4 uint32, failed 5 uint32, point 6 string,"
    " waits_for 7 string, left_s 8 double, over 9 bool",
    "Request.FieldsEntry": "key 1 string, value 2 string",  # a map
    "Reply": "id 1 uint64, good 2 bool, error 3 string, view 4 FarmView, tap 5 TapPlace,"
    " pending_ms 31 uint64",
    "TapWish": "id 1 string, streams 2 string*, every 3 uint32, sources 4 uint32*, lease_ms 5 uint32, ends 6 bool",
    "TapPlace": "subscribe_port 1 uint32, tags 2 string*, lease_ms 3 uint32, dcms 4 uint32",
    "MemberState": "state 1 string, run 2 uint32, epoch 3 uint64, begun 4 bool, ended 5 bool, reason 6 string",
    "Report": "counters 6 Report.CountersEntry*",
    "Report.CountersEntry": "key 1 string, value 2 uint64",  # a map
    "FarmView": "farm 1 string, state 2 string, under_way 3 string, reason 4 string, run 5 uint32, epoch 6 uint64,"
    " sets 7 string*, utc_ns 8 sfixed64, nodes 9 FarmView.Node*, events 10 FarmView.Line*, runs 11 FarmView.Run*,"
    " run_begin_utc_ns 13 sfixed64, one_run 14 bool, health 15 FarmView.Finding*,"
    " run_fields 31 FarmView.RunFieldsEntry*",
    "FarmView.RunFieldsEntry": "key 1 string, value 2 string",
    "FarmView.Node": "name 1 string, role 2 string, duty 3 string, live 4 bool, inactive 5 bool, excluded 6 bool,"
    " state 7 MemberState, host 8 string, pid 9 uint32, metrics 10 string, report 12 Report",
    "FarmView.Line": "utc_ns 1 sfixed64, level 2 string, text 3 string",
    "FarmView.Run": "run 1 uint32, begin_utc_ns 2 sfixed64, duration_ns 3 sfixed64, triggered 4 uint64,"
    " stored 5 uint64, rejected 6 uint64, discarded 7 uint64, balanced 8 bool, faults 9 bool, reason 10 string",
    "FarmView.Finding": "gravity 1 string, word 2 string, reason 3 string",
}
_SAMPLE = struct.Struct("<4sHHQQQQ")


def _file_descriptor() -> Any:
    descriptor = need("google.protobuf", "run control's bus")
    from google.protobuf import descriptor_pb2

    assert descriptor is not None
    file = descriptor_pb2.FileDescriptorProto(name="weir_daq/bus.proto", package="weir.v1", syntax="proto3")
    messages: dict[str, Any] = {}
    for name, fields in SCHEMA.items():
        outer, _, inner = name.rpartition(".")
        message = messages[outer].nested_type.add() if outer else file.message_type.add()
        message.name = inner
        messages[name] = message
        for field in fields.split(","):
            label, number, kind = field.split()
            entry = message.field.add(name=label, number=int(number), label=3 if kind.endswith("*") else 1)
            kind = kind.rstrip("*")
            if kind in SCHEMA:
                entry.type, entry.type_name = 11, ".weir.v1." + kind
            else:
                entry.type = getattr(descriptor_pb2.FieldDescriptorProto, "TYPE_" + kind.upper())
    return file


@lru_cache(maxsize=1)
def _classes() -> dict[str, Any]:
    file = _file_descriptor()
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    make = getattr(message_factory, "GetMessageClass", None)
    if make is None:  # before protobuf 4.22
        make = message_factory.MessageFactory(pool).GetPrototype  # type: ignore[attr-defined,unused-ignore]
    return {name: make(pool.FindMessageTypeByName("weir.v1." + name)) for name in SCHEMA}


def message(name: str, /, **values: Any) -> Any:
    """Returns a new message of SCHEMA with these values."""
    return _classes()[name](**values)


def request(**values: Any) -> bytes:
    """Returns a Request as bytes for the bus."""
    encoded: bytes = message("BusMessage", request=message("Request", **values)).SerializeToString()
    return encoded


def reply(data: bytes) -> Any:
    """Returns the Reply in a message of the bus; None for any other message. Raises ValueError if it is malformed."""
    from google.protobuf.message import DecodeError

    got = message("BusMessage")
    try:
        got.ParseFromString(data)
    except DecodeError as error:
        raise ValueError(f"not a message of the bus: {error}") from None
    return got.reply if got.HasField("reply") else None


def parse_sample(payload: bytes) -> tuple[tuple[int, ...], memoryview]:
    """Returns (numbering, sequence, dropped, seen) and the record of a sample (libs/monitoring/tap, sample.hpp)."""
    if len(payload) < _SAMPLE.size:
        raise ValueError(f"a sample of {len(payload)} bytes is too short")
    magic, version, length, *numbers = _SAMPLE.unpack_from(payload)
    if magic != b"WTAP" or version != 1 or not _SAMPLE.size <= length <= len(payload):
        raise ValueError("not a sample of version 1")
    return tuple(numbers), memoryview(payload)[length:]


def read_keys(path: str | os.PathLike[str], role: str = "operator") -> dict[str, bytes]:
    """Returns server, public and secret key of a *.curve file, or of the role's in a folder. Raises ValueError."""
    if os.path.isdir(path):
        path = os.path.join(path, role + ".curve")
    keys = {}
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    if not lines or lines[0] != ["weir-curve-keys", "1"]:
        raise ValueError(f"{os.fspath(path)}: not a file of weir-curve-keys: create one with `weir keys new`")
    for words in lines[1:]:
        if len(words) == 2:
            keys[words[0]] = words[1].encode()
    lacks = [name for name in ("server", "public", "secret") if name not in keys]
    if lacks:
        raise ValueError(f"{os.fspath(path)}: lacks the line `{lacks[0]}`")
    return keys


def connect(context: Any, kind: int, host: str, port: int, keys: dict[str, bytes] | None, queue_max: int) -> Any:
    """Returns a connected ZeroMQ socket of the bus."""
    zmq = need("zmq", "run control's bus")
    made = context.socket(kind)
    made.setsockopt(zmq.IPV6, 1)
    made.setsockopt(zmq.RCVHWM, queue_max)
    if keys:
        made.setsockopt(zmq.CURVE_SERVERKEY, keys["server"])
        made.setsockopt(zmq.CURVE_PUBLICKEY, keys["public"])
        made.setsockopt(zmq.CURVE_SECRETKEY, keys["secret"])
    made.connect(f"tcp://{host}:{port}")
    return made


def host_and_port(at: str) -> tuple[str, int]:
    """Splits HOST:PORT. Raises ValueError."""
    if at.startswith(("http://", "https://")):
        raise ValueError(f"'{at}' is an address of a page: give HOST:PORT of control.listen in the farm file")
    host, _, port = at.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"'{at}' is not HOST:PORT")
    return host, int(port)
