"""Fragments over TCP, with flow control: a front-end sends with `Stream`, a source host receives with `Listener`.

    # records.py, the farm file's source.plugin
    from weir_daq.streams import Listener

    class Source(Listener):
        '''fragments of a program beside'''

    # the front-end, which numbers its fragments as the trigger does
    with Stream("127.0.0.1", 7601) as stream:
        stream.send(slice_id, data)

Source N listens at `port` + N; parameters: `port` (7600), `host` (127.0.0.1), `fragment_bytes_max` (64 MiB). A
connection has frames: slice id (8 bytes, little-endian), length (4 bytes), and the fragment; length 2^32 - 1: no data.
It has no key, so `host` should not be an address that strangers reach.
"""

from __future__ import annotations

import select
import socket
import struct
from types import TracebackType

from .sources import Source, SourceSetup

__all__ = ["Listener", "Stream"]

_HEAD = struct.Struct("<QI")
_NO_DATA = (1 << 32) - 1
_PIECE = 1 << 20
_PATIENCE_S = 0.1


class Stream:
    """Sends the fragments of one source. For one thread. Raises OSError where the source's host is not there."""

    def __init__(self, host: str, port: int, *, timeout_s: float = 5) -> None:
        self._socket = socket.create_connection((host, port), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, slice_id: int, data: bytes | bytearray | memoryview | None) -> None:
        """Sends the data of a slice; None: there are none.

        Waits while the readout has no room; raises TimeoutError after `timeout_s`. After an error, close it.
        """
        if data is None:
            return self._socket.sendall(_HEAD.pack(slice_id, _NO_DATA))
        length = memoryview(data).nbytes
        if length <= _PIECE:
            self._socket.sendall(_HEAD.pack(slice_id, length) + bytes(data))
        else:
            self._socket.sendall(_HEAD.pack(slice_id, length))
            self._socket.sendall(data)
        return None

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class Listener(Source):
    """receives fragments over TCP"""

    def __init__(self, setup: SourceSetup) -> None:
        self._limit = setup.parameter("fragment_bytes_max", 64 << 20)
        at = (setup.parameter("host", "127.0.0.1"), setup.parameter("port", 7600) + setup.source)
        self._server = socket.create_server(at, backlog=1)
        self._server.setblocking(False)
        self._peer: socket.socket | None = None
        self._got = bytearray()

    def run(self) -> None:
        piece = memoryview(bytearray(_PIECE))
        while self.running:
            waits = [self._server] if self._peer is None else [self._server, self._peer]
            ready, _, _ = select.select(waits, [], [], _PATIENCE_S)
            if self._peer in ready:
                self._receive(piece)
            if self._server in ready:
                self._take(self._server.accept()[0])
        self._take(None)

    def _take(self, peer: socket.socket | None) -> None:
        """Replaces the connection: its sender has been started again."""
        if self._peer is not None:
            self._peer.close()
        if self._got:
            self.log(f"source {self.source}: the connection ended inside a fragment", "warning")
            self._got.clear()
        self._peer = peer
        if peer is not None:
            peer.settimeout(_PATIENCE_S)

    def _receive(self, piece: memoryview) -> None:
        assert self._peer is not None
        try:
            size = self._peer.recv_into(piece)
        except OSError:
            size = 0
        if size == 0:
            return self._take(None)
        self._got += piece[:size]
        ids: list[int] = []
        data: list[bytes | None] = []
        at = 0
        while len(self._got) - at >= _HEAD.size:
            slice_id, length = _HEAD.unpack_from(self._got, at)
            if length == _NO_DATA:
                ids.append(slice_id)
                data.append(None)
                at += _HEAD.size
                continue
            if length > self._limit:
                self.log(f"source {self.source}: a fragment of {length} bytes, {self._limit} are possible", "error")
                self._got.clear()
                return self._take(None)
            begin = at + _HEAD.size
            if len(self._got) < begin + length:
                break
            ids.append(slice_id)
            data.append(bytes(memoryview(self._got)[begin : begin + length]))
            at = begin + length
        del self._got[:at]
        if ids:
            self.deliver_many(ids, data)
        return None
