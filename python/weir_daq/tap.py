"""Samples of a run that is on, over run control's bus. Needs pyzmq and protobuf."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Iterator
from typing import Any

from . import bus
from ._packages import need
from .errors import FormatError, MissingPackageError, TapError
from .record import Slice, parse_slice

_RENEWALS = 3  # in a lease
_Head = tuple[int, ...]


class Sampled:
    """A sampled slice with its origin: stream, dcm_name. It has the attributes of the slice."""

    def __init__(self, one: Slice, stream: str, dcm_name: str) -> None:
        self.slice = one
        self.stream = stream
        self.dcm_name = dcm_name

    def __getattr__(self, name: str) -> Any:
        return getattr(self.slice, name)


class _Place:
    """The account of one stream of one DCM."""

    def __init__(self) -> None:
        self.head: _Head | None = None
        self.dropped = self.seen = 0
        self._before = (0, 0)  # of the DCM's earlier numberings

    def count(self, head: _Head) -> int:
        """Takes a sample's head; returns how many samples were lost before it."""
        numbering, sequence, dropped, seen = head
        lost = 0
        if self.head is not None and self.head[0] == numbering:
            lost = max(0, sequence - self.head[1] - 1)
        elif self.head is not None:
            self._before = (self.dropped, self.seen)
            lost = sequence
        self.head = head
        self.dropped, self.seen = self._before[0] + dropped, self._before[1] + seen
        return lost


class Tap:
    """Slices of the active runs, as they pass.

    connect: HOST:PORT of run control. streams: raw, accepted, default, debug. every: one in so many slices of a
    stream, at each DCM. sources: whose bytes are wanted; none: all. keys: folder of `weir keys new`, or its
    observer.curve. For one thread, which has to call take() more often than a third of the farm's tap.lease_s, or the
    tap ends until the next call.

    received, lost (here, because this program was slow), dropped (by the DCMs, beyond tap.rate_bytes_max), seen
    (slices that the samples represent) and malformed are the account.
    """

    def __init__(
        self,
        connect: str,
        streams: str | Iterable[str] = ("raw",),
        every: int = 1,
        sources: Iterable[int] = (),
        keys: str | os.PathLike[str] | None = None,
        timeout_s: float = 5.0,
        queue_max: int = 1000,
    ) -> None:
        try:
            self._zmq = need("zmq", "a tap")
            bus.message("TapWish")
        except MissingPackageError as error:
            raise TapError(str(error)) from error
        self.received = self.lost = self.malformed = self.dcms = 0
        self._streams = [streams] if isinstance(streams, str) else list(streams)
        self._every = every
        self._sources = list(sources)
        self._queue_max = queue_max
        self._host, port = bus.host_and_port(connect)
        self._keys = bus.read_keys(keys, "observer") if keys else None
        self._id = secrets.token_hex(8)
        self._requests = 0
        self._lease_s = timeout_s
        self._port = 0
        self._places: dict[bytes, _Place] = {}
        self._samples: Any = None
        self._context = self._zmq.Context()
        self._control = self._socket(self._zmq.DEALER, port)
        self._request()
        try:
            if not self._control.poll(int(timeout_s * 1000)):
                raise TapError(
                    f"run control at {connect} does not answer within {timeout_s:g} s: check that it is running, "
                    "that this is the port of control.listen and not the page's, and that both have the same keys"
                )
            self._take_reply()
        except TapError:
            self._context.destroy(linger=0)
            raise

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Sampled]:
        while True:
            one = self.take(1.0)
            if one is not None:
                yield one

    @property
    def dropped(self) -> int:
        return sum(place.dropped for place in self._places.values())

    @property
    def seen(self) -> int:
        return sum(place.seen for place in self._places.values())

    def take(self, timeout_s: float) -> Sampled | None:
        """Returns the next slice; None if none arrives within `timeout_s`."""
        until = time.monotonic() + timeout_s
        while True:
            self._renew_if_due()
            left = max(0.0, until - time.monotonic())
            if self._samples.poll(int(1000 * min(left, self._lease_s / _RENEWALS))):
                one = self._decode(self._samples.recv())
                if one is not None:
                    return one
            if left <= 0:
                return None

    def close(self) -> None:
        """Ends the tap."""
        if not self._context.closed:
            self._request(ends=True)
            self._context.destroy(linger=500)

    def _socket(self, kind: int, port: int) -> Any:
        return bus.connect(self._context, kind, self._host, port, self._keys, self._queue_max)

    def _request(self, ends: bool = False) -> None:
        self._requests += 1
        self._requested_at = time.monotonic()
        wish = bus.message(
            "TapWish", id=self._id, streams=self._streams, every=self._every, sources=self._sources, ends=ends
        )
        # With run control away and the queue full this request is lost; the next one repeats it.
        if self._control.poll(0, self._zmq.POLLOUT):
            self._control.send(bus.request(id=self._requests, command="tap", tap=wish))

    def _renew_if_due(self) -> None:
        if time.monotonic() - self._requested_at >= self._lease_s / _RENEWALS:
            self._request()
        while self._control.poll(0):
            self._take_reply()

    def _take_reply(self) -> None:
        reply = bus.reply(self._control.recv())
        if reply is None:
            return
        if not reply.good:
            raise TapError("run control: " + (reply.error or "refused"))
        self._lease_s = reply.tap.lease_ms / 1000
        self.dcms = reply.tap.dcms
        port = reply.tap.subscribe_port
        if port == self._port:
            return
        self._port = port
        if self._samples is not None:
            self._samples.close(linger=0)
        self._samples = self._socket(self._zmq.SUB, port)
        for tag in reply.tap.tags:
            self._samples.setsockopt(self._zmq.SUBSCRIBE, tag.encode())

    def _decode(self, message: bytes) -> Sampled | None:
        tag, _, payload = message.partition(b"\0")
        try:
            head, record = bus.parse_sample(payload)
            one = parse_slice(record)
        except (ValueError, FormatError):
            self.malformed += 1
            return None
        _, stream, _, dcm = tag.decode().split(".", 3)
        self.received += 1
        self.lost += self._places.setdefault(tag, _Place()).count(head)
        return Sampled(one, stream, dcm)
