"""Samples of a run that is on, over run control's bus. Needs pyzmq (Debian: python3-zmq)."""

import secrets
import time

from . import bus
from .record import FormatError, parse_slice

try:
    import zmq
except ImportError:  # reading files needs none
    zmq = None

_RENEWALS = 3  # in a lease


class TapError(RuntimeError):
    """Run control does not answer, or refuses; the text says why."""


class Tap:
    """Slices of whatever runs are on, as they come by.

    connect: HOST:PORT of run control. streams: raw, accepted, default, debug. every: one in so many slices of a
    stream, at each DCM. sources: whose bytes are wanted; none: all. keys: an observer.curve of `weir keys new`.
    Of one thread, which has to call take() more often than a third of the farm's tap.lease_s, or the tap ends
    until it does.

    received, lost (here, for being slow), dropped (by the DCMs, beyond tap.rate_bytes_max), seen (slices that the
    samples stand for) and malformed say what came and what did not.
    """

    def __init__(self, connect, streams=("raw",), every=1, sources=(), keys=None, timeout_s=5.0, queue_max=1000):
        if zmq is None:
            raise TapError("a tap needs pyzmq: install python3-zmq, or `pip install pyzmq`")
        self.received = self.lost = self.malformed = self.dcms = 0
        self._streams = [streams] if isinstance(streams, str) else list(streams)
        self._every = every
        self._sources = list(sources)
        self._queue_max = queue_max
        self._host, _, port = connect.rpartition(":")
        self._keys = bus.read_keys(keys) if keys else None
        self._id = secrets.token_hex(8)
        self._requests = 0
        self._lease_s = timeout_s
        self._port = 0
        self._places = {}
        self._context = zmq.Context()
        self._samples = None
        self._control = self._socket(zmq.DEALER, int(port))
        self._ask()
        if not self._control.poll(int(timeout_s * 1000)):
            self._context.destroy(linger=0)
            raise TapError("run control at %s does not answer within %g s: is it there, and do both have the "
                           "same keys?" % (connect, timeout_s))
        try:
            self._hear()
        except TapError:
            self._context.destroy(linger=0)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __iter__(self):
        while True:
            one = self.take(1.0)
            if one is not None:
                yield one

    @property
    def dropped(self):
        return sum(place[1] for place in self._places.values())

    @property
    def seen(self):
        return sum(place[2] for place in self._places.values())

    def take(self, timeout_s):
        """The next slice (Sampled); None: nothing came within that time."""
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

    def close(self):
        """Ends the tap."""
        if not self._context.closed:
            self._ask(ends=True)
            self._context.destroy(linger=500)

    def _socket(self, kind, port):
        made = self._context.socket(kind)
        made.setsockopt(zmq.IPV6, 1)
        made.setsockopt(zmq.RCVHWM, self._queue_max)
        if self._keys:
            made.setsockopt(zmq.CURVE_SERVERKEY, self._keys["server"])
            made.setsockopt(zmq.CURVE_PUBLICKEY, self._keys["public"])
            made.setsockopt(zmq.CURVE_SECRETKEY, self._keys["secret"])
        made.connect("tcp://%s:%d" % (self._host, port))
        return made

    def _ask(self, ends=False):
        self._requests += 1
        self._asked = time.monotonic()
        request = bus.tap_request(self._requests, self._id, self._streams, self._every, self._sources, ends)
        try:
            self._control.send(request, zmq.NOBLOCK)
        except zmq.Again:
            pass  # run control is away, and the queue to it full: the next one says the same

    def _renew_if_due(self):
        if time.monotonic() - self._asked >= self._lease_s / _RENEWALS:
            self._ask()
        while self._control.poll(0):
            self._hear()

    def _hear(self):
        reply = bus.tap_reply(self._control.recv())
        if reply is None:
            return
        error, port, tags, lease_s, self.dcms = reply
        if error:
            raise TapError("run control: " + error)
        self._lease_s = lease_s
        if port == self._port:
            return
        self._port = port
        if self._samples is not None:
            self._samples.close(linger=0)
        self._samples = self._socket(zmq.SUB, port)
        for tag in tags:
            self._samples.setsockopt(zmq.SUBSCRIBE, tag)

    def _decode(self, message):
        tag, _, payload = message.partition(b"\0")
        try:
            head, record = bus.parse_sample(payload)
            one = parse_slice(record)
        except (ValueError, FormatError):
            self.malformed += 1
            return None
        _, stream, _, dcm = tag.decode().split(".", 3)
        self._count(tag, head)
        return Sampled(one, stream, dcm)

    def _count(self, tag, head):
        numbering, sequence, dropped, seen = head
        self.received += 1
        last = self._places.get(tag)
        if last is None:
            before = (0, 0)
        elif last[0][0] == numbering:
            before = last[3]
            self.lost += max(0, sequence - last[0][1] - 1)
        else:
            before = (last[1], last[2])
            self.lost += sequence
        self._places[tag] = (head, before[0] + dropped, before[1] + seen, before)


class Sampled:
    """A slice (its attributes are this one's), and where it came from: stream, dcm_name."""

    def __init__(self, one, stream, dcm_name):
        self.slice = one
        self.stream = stream
        self.dcm_name = dcm_name

    def __getattr__(self, name):
        return getattr(self.slice, name)
