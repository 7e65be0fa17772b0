"""The few messages of the bus that a tap needs (proto/weir/v1/bus.proto), and its keys, without a package."""

import struct

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_REQUEST, _REPLY = 8, 9  # of BusMessage
_SAMPLE = struct.Struct("<4sHHQQQQ")


def _varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field, value):
    return _varint(field << 3 | _VARINT) + _varint(value)


def _bytes(field, value):
    value = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value


def _read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number that does not end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """A message as (number, value) pairs; what it does not need to know is passed over."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _read_varint(data, at)
        else:
            size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
            if kind == _BYTES:
                size, at = _read_varint(data, at)
            if size is None or size > len(data) - at:
                raise ValueError("a field that leads outside of its message")
            value = data[at:at + size]
            at += size
        yield key >> 3, value


def tap_request(number, tap, streams, every, sources, ends=False):
    wish = _bytes(1, tap) + b"".join(_bytes(2, one) for one in streams) + _number(3, every)
    if sources:
        wish += _bytes(4, b"".join(_varint(one) for one in sources))
    if ends:
        wish += _number(6, 1)
    return _bytes(_REQUEST, _number(1, number) + _bytes(2, "tap") + _bytes(8, wish))


def tap_reply(data):
    """A Reply to `tap`: (error, subscribe port, tags, lease in s, DCMs); None for any other message."""
    body = dict(fields(data)).get(_REPLY)
    if not isinstance(body, bytes):
        return None
    reply = dict(fields(body))
    port = lease_ms = dcms = 0
    tags = []
    for number, value in fields(reply.get(5, b"")):
        if number == 1:
            port = value
        elif number == 2:
            tags.append(value)
        elif number == 3:
            lease_ms = value
        elif number == 4:
            dcms = value
    error = "" if reply.get(2) else reply.get(3, b"").decode() or "run control refuses"
    return error, port, tags, lease_ms / 1000, dcms


def parse_sample(payload):
    """(numbering, sequence, dropped, seen), record: libs/tap, sample.hpp. Raises ValueError."""
    if len(payload) < _SAMPLE.size:
        raise ValueError("a sample of %d bytes is too short" % len(payload))
    magic, version, length, *numbers = _SAMPLE.unpack_from(payload)
    if magic != b"WTAP" or version != 1 or not _SAMPLE.size <= length <= len(payload):
        raise ValueError("no sample of version 1")
    return tuple(numbers), memoryview(payload)[length:]


def read_keys(path):
    """A *.curve file of `weir keys new`: server, public and secret key."""
    keys = {}
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    if not lines or lines[0] != ["weir-curve-keys", "1"]:
        raise ValueError("%s: is no file of weir-curve-keys: make one with `weir keys new`" % path)
    for words in lines[1:]:
        if len(words) == 2:
            keys[words[0]] = words[1].encode()
    lacks = [name for name in ("server", "public", "secret") if name not in keys]
    if lacks:
        raise ValueError("%s: lacks the line `%s`" % (path, lacks[0]))
    return keys
