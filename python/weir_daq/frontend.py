"""Front-ends and triggers in Python, on any machine: `Sender` sends fragments as datagrams to the source `udp` of a
readout, `TriggerClient` offers triggers to a farm with `trigger.mode: network`. Weir is not needed there::

    with Sender("127.0.0.1", 7300, source=1) as sender, TriggerClient("127.0.0.1", 7400, farm="bench") as trigger:
        for event in board:
            slice_id = trigger.offer(time_ns=event.time_ns)
            if slice_id is not None:  # None: the farm is busy, trigger.busy says why
                sender.send(slice_id, event.data)

docs/connecting-a-detector.md explains both.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import NamedTuple

from .errors import ControlError
from .record import crc32c

# ---- datagrams: libs/readout/packets/FORMAT.md

_PACKET = struct.Struct("<4sBBHIIQIIIHHII")
_STAMP = struct.Struct("<B7xQqq")
_HAS_COUNTER, _HAS_TIME = 1, 2
_DATA, _MARK = 1, 2
_CHECKSUM, _TRUNCATED, _CLOSES = 1, 2, 4
_CRC_AT = 40
_FRAGMENT_MAX = (1 << 32) - 1
_DATAGRAM_MAX = 65507


class Sender:
    """Sends the fragments of one source. For one thread.

    `port` is that of the source's readout, `source` its id in the farm file. `session` changes with each start of the
    front-end (default: the time in seconds), so that nothing of its new life is taken for a late packet. A fragment is
    cut into datagrams of `datagram_bytes` (1,472 fill an Ethernet frame). UDP has no flow control: a sender that is
    faster than line or readout loses packets, which the run's summary counts.
    """

    def __init__(
        self,
        host: str,
        port: int,
        source: int,
        *,
        run: int = 0,
        session: int | None = None,
        datagram_bytes: int = 1472,
        checksum: bool = True,
    ) -> None:
        if not _PACKET.size < datagram_bytes <= _DATAGRAM_MAX:
            raise ValueError(f"datagram_bytes={datagram_bytes}: {_PACKET.size + 1} to {_DATAGRAM_MAX} are possible")
        self.source, self.run = source, run
        self.session = int(time.time()) & 0xFFFFFFFF if session is None else session
        self.packets = self.bytes = 0  # sent so far
        self._datagram_bytes = datagram_bytes
        self._checksum = _CHECKSUM if checksum else 0
        self._last: int | None = None
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        self._socket = socket.socket(family, kind, protocol)
        self._socket.connect(address)

    def send(
        self,
        slice_id: int,
        data: bytes | bytearray | memoryview,
        *,
        counter: int | None = None,
        time_ns: int | None = None,
        duration_ns: int = 0,
        truncated: bool = False,
    ) -> None:
        """Sends the fragment of a slice, and closes the slice: slices come in ascending order.

        `counter`: the front-end's own count of its triggers. `time_ns`: UTC by its own clock, at the begin of the data,
        which cover `duration_ns`. The farm file's section `build` compares both with the slice. `truncated` marks a
        fragment that the front-end had to cut. Raises OSError where the network refuses; packets to
        a readout that is not there are lost without an error.
        """
        view = memoryview(data).cast("B")
        total = len(view)
        if total > _FRAGMENT_MAX:
            raise ValueError(f"a fragment of {total} bytes: {_FRAGMENT_MAX} are possible")
        flags = self._checksum | (_TRUNCATED if truncated else 0)
        stamp = b""
        if counter is not None or time_ns is not None:
            has = (0 if counter is None else _HAS_COUNTER) | (0 if time_ns is None else _HAS_TIME)
            stamp = _STAMP.pack(has, counter or 0, time_ns or 0, duration_ns)
        payload_max = self._datagram_bytes - _PACKET.size - len(stamp)
        if payload_max < 1:
            raise ValueError(f"datagram_bytes={self._datagram_bytes} has no room for data behind counter and time")
        for offset in range(0, max(total, 1), payload_max):
            part = view[offset : offset + payload_max]
            closes = _CLOSES if offset + len(part) == total else 0
            self._send(_DATA, slice_id, total, offset, flags | closes, part, stamp)
        self._last = slice_id

    def mark(self, slice_id: int, *, time_ns: int | None = None) -> None:
        """Says that the source has finished this slice and all earlier ones: one without data is settled at once.

        `time_ns` (`build.by: time`): no more data that begin before this time will be sent. There the slice ids are
        numbers of this sender's data and marks, which ascend by one.
        """
        stamp = b"" if time_ns is None else _STAMP.pack(_HAS_TIME, 0, time_ns, 0)
        self._send(_MARK, slice_id, 0, 0, self._checksum, memoryview(b""), stamp)
        self._last = slice_id

    def close(self) -> None:
        """Repeats the last mark three times, because the last packets may be lost, and closes the socket."""
        if self._socket.fileno() < 0:
            return
        if self._last is not None:
            for _ in range(3):
                time.sleep(0.003)
                self.mark(self._last)
        self._socket.close()

    def _send(
        self, kind: int, slice_id: int, total: int, offset: int, flags: int, part: memoryview, stamp: bytes = b""
    ) -> None:
        sequence = self.packets & 0xFFFFFFFF
        length = _PACKET.size + len(stamp)
        head = (b"WUDP", 1, kind, length, self.run, self.source, slice_id, sequence, total, offset, flags, 0, 0)
        packet = bytearray(_PACKET.pack(*head, self.session)) + stamp + part
        if flags & _CHECKSUM:
            struct.pack_into("<I", packet, _CRC_AT, crc32c(packet))
        self.packets += 1
        self.bytes += len(packet)
        try:
            self._socket.send(packet)
        except ConnectionRefusedError:  # an earlier packet found no reader
            self._socket.send(packet)

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


# ---- triggers: libs/network/wire/FORMAT.md, and TriggerOffer, TriggerAnswer of proto/weir/v1/control.proto

_FRAME = struct.Struct("<BBHIQIIII")
_HELLO, _REFUSE, _CONTROL = 1, 2, 6
_WIRE_VERSION = 5
_ROLE_TRIGGER = 6
_OFFER, _ANSWER = 16, 17  # bodies of Control
_ANSWER_BYTES_MAX = 1 << 20


class Answer(NamedTuple):
    """The id of the slice, or None and the reason (docs/protocols.md lists them)."""

    slice_id: int | None
    busy: str


class TriggerClient:
    """Offers triggers to the supervisor of a farm (`trigger.listen`). For one thread; on a network without a farm key.

    Raises ControlError where the supervisor refuses or leaves, and OSError where it cannot be reached.
    """

    def __init__(self, host: str, port: int, farm: str, *, timeout_s: float = 10) -> None:
        self._socket = socket.create_connection((host, port), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._got = bytearray()
        self._answers: deque[Answer] = deque()
        self._owed = 0
        hello = (
            _varint_field(1, _WIRE_VERSION)
            + _varint_field(2, _ROLE_TRIGGER)
            + _bytes_field(3, b"python")
            + _fixed_field(6, int.from_bytes(os.urandom(7), "little") + 1)
            + _bytes_field(7, farm.encode())
        )
        try:
            self._send(_HELLO, hello)
            kind, payload = self._frame()
            if kind == _REFUSE:
                raise ControlError("the supervisor refuses: " + _refusal(payload))
            if kind != _HELLO:
                raise ControlError(f"{host}:{port} does not answer as a supervisor does")
            if any(number == 14 and value for number, value in _fields(payload)):
                raise ControlError("the farm has a key, and this client none: offer triggers on loopback")
        except BaseException:
            self._socket.close()
            raise

    def offer(
        self, slice_id: int | None = None, *, time_ns: int = 0, kind: int = 0, payload: bytes = b""
    ) -> int | None:
        """Offers one trigger and waits for its answer: the slice's id, or None if the farm is busy (`busy` says why).

        `slice_id`: the trigger's own number; None: the next free one. `time_ns`: UTC; 0: now. `kind`: the trigger type.
        """
        self.post(slice_id, time_ns=time_ns, kind=kind, payload=payload)
        answer = Answer(None, "")
        while self._owed or self._answers:
            answer = self.answer()
        self.busy = answer.busy
        return answer.slice_id

    busy = ""  # why the last offer() was not taken

    def post(self, slice_id: int | None = None, *, time_ns: int = 0, kind: int = 0, payload: bytes = b"") -> None:
        """Offers one trigger without waiting: many may be under way, and answer() returns theirs in order."""
        one = b"" if slice_id is None else _varint_field(1, slice_id)
        if time_ns:
            one += _fixed_field(2, time_ns)
        if kind:
            one += _varint_field(3, kind)
        if payload:
            one += _bytes_field(4, payload)
        self._send(_CONTROL, _bytes_field(_OFFER, _bytes_field(1, one)))
        self._owed += 1

    def answer(self) -> Answer:
        """Waits for the answer to the earliest trigger that has none yet. Raises ControlError if all have one."""
        while not self._answers:
            if not self._owed:
                raise ControlError("every trigger has its answer")
            self._take(*self._frame())
        return self._answers.popleft()

    def close(self) -> None:
        """Closes the connection; triggers without an answer may have been taken."""
        self._socket.close()

    def _take(self, kind: int, payload: bytes) -> None:
        if kind == _REFUSE:
            raise ControlError("the supervisor refuses: " + _refusal(payload))
        if kind != _CONTROL:
            return
        for number, value in _fields(payload):
            if number != _ANSWER or not isinstance(value, bytes):
                continue
            for _, one in _fields(value):
                assert isinstance(one, bytes)
                parts = dict(_fields(one))
                busy = parts.get(3, b"")
                assert isinstance(busy, bytes)
                taken = parts.get(1, 0) == 1
                self._answers.append(Answer(int(parts.get(2, 0)) if taken else None, busy.decode(errors="replace")))
                self._owed -= 1

    def _send(self, kind: int, payload: bytes) -> None:
        self._socket.sendall(_FRAME.pack(kind, 0, 0, len(payload), 0, 0, 0, 0, crc32c(payload)) + payload)

    def _frame(self) -> tuple[int, bytes]:
        head = self._receive(_FRAME.size)
        kind, _, _, length, *_, crc = _FRAME.unpack(head)
        if length > _ANSWER_BYTES_MAX:
            raise ControlError("the other side does not speak Weir's wire format")
        payload = self._receive(length)
        if crc32c(payload) != crc:
            raise ControlError("a damaged message of the supervisor")
        return kind, payload

    def _receive(self, size: int) -> bytes:
        while len(self._got) < size:
            piece = self._socket.recv(1 << 16)
            if not piece:
                raise ControlError("the supervisor closed the connection")
            self._got += piece
        out = bytes(self._got[:size])
        del self._got[:size]
        return out

    def __enter__(self) -> TriggerClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _refusal(payload: bytes) -> str:
    reason = dict(_fields(payload)).get(1, b"")
    return reason.decode(errors="replace") if isinstance(reason, bytes) else "without a reason"


# ---- the part of Protocol Buffers' encoding that these messages use


def _varint(value: int) -> bytes:
    if not 0 <= value < 1 << 64:
        raise ValueError(f"{value} is not a number of 64 bits")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _varint_field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _fixed_field(number: int, value: int) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<q", value)


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message. Raises ControlError if it is malformed."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while at < len(data) and shift < 64:
            value |= (data[at] & 0x7F) << shift
            at += 1
            if data[at - 1] < 0x80:
                return value
            shift += 7
        raise ControlError("a malformed message of the supervisor")

    while at < len(data):
        key = varint()
        wire = key & 7
        if wire == 0:
            yield key >> 3, varint()
            continue
        length = varint() if wire == 2 else {1: 8, 5: 4}.get(wire, len(data) + 1)
        if length > len(data) - at:
            raise ControlError("a malformed message of the supervisor")
        at += length
        piece = data[at - length : at]
        yield key >> 3, piece if wire == 2 else int.from_bytes(piece, "little")
