"""Filters in Python: the module that a filter's file imports (docs/writing-a-filter.md).

    from weir_daq.filters import accept, reject

    class Filter:
        '''accepts slices of at least `minimum` bytes'''

        def __init__(self, setup):
            self.minimum = setup.parameter("minimum", 1000)

        def process(self, slice):
            return accept() if slice.size >= self.minimum else reject()
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Callable, Generic, TypeVar, Union

import numpy as np
import numpy.typing as npt

from ._tables import REASON, STATUS
from .hits import HIT, decode_hits
from .parameters import ParameterError, Parameters, whole

__all__ = [
    "HITS", "TABLE", "Axis", "Counter", "Decision", "Fragment", "Histogram", "Histogram2D", "ParameterError", "RunInfo",
    "Setup", "Slice", "SourceGroup",
    "accept", "forward", "need", "need_all", "reject",
]  # fmt: skip

Array = npt.NDArray[Any]
Bytes = Union[bytes, bytearray, memoryview, Array]

# A row of Slice.table.
TABLE = np.dtype(
    [
        ("source", "<u4"),
        ("status", "u1"),
        ("reason", "u1"),
        ("reserved", "<u2"),
        ("address", "<u8"),
        ("length", "<u4"),
        ("total", "<u4"),
        ("crc32c", "<u4"),
        ("reserved2", "<u4"),
    ]
)
# A row of Slice.hits().
HITS = np.dtype([("source", "<u4"), ("channel", "u1"), ("time_ns", "<u4"), ("tot_ns", "u1")])

_ROW = struct.Struct("<IBBHQIIII")
_SLICE = struct.Struct("<IIQIIqqIIQIIIIQQQII")
SLICE_BYTES = _SLICE.size  # of the ABI's weir_filter_slice
_INCOMPLETE = 1
_MASK = (1 << 64) - 1
_REJECT, _ACCEPT, _NEED_MORE, _FORWARD = 1, 2, 3, 4
_KEEP_ALL, _KEEP_LISTED, _KEEP_NONE = 0, 1, 2
_ALERT_S_MAX = 10 * 24 * 3600  # AlertRequest::kWindowMsMax of libs/filtering/filter_host


def source_number(value: Any) -> int:
    return whole(value, "source", 32)


def _window_s(value: Any, name: str) -> float:
    seconds = float(value)
    if not math.isfinite(seconds) or abs(seconds) > _ALERT_S_MAX:
        raise ValueError(f"{name}={value!r}: an alert's window has at most {_ALERT_S_MAX} s (ten days) on each side")
    return seconds


def _mix(x: int) -> int:  # mix64 of libs/foundation/base
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


class Decision:
    """A filter's answer for a slice; made by accept() and its siblings."""

    __slots__ = ("counter", "events", "groups", "keep", "need_all", "payload", "prefetch", "prescale", "result",
                 "sources", "streams", "verdict")  # fmt: skip

    def __init__(self, verdict: int) -> None:
        self.verdict = verdict
        self.keep = _KEEP_ALL
        self.need_all = False
        self.streams = 0
        self.prescale = 1
        self.counter = 0
        self.sources: Sequence[int] = ()  # kept or needed
        self.groups: Sequence[int] = ()  # needed: their handles
        self.prefetch: tuple[Sequence[int], Sequence[int]] = ((), ())  # sources, groups
        self.events: Iterable[tuple[int, Bytes]] = ()
        self.result: Bytes | None = None
        self.payload: tuple[str, Bytes] | None = None  # of forward()

    @property
    def accepted(self) -> bool:
        return self.verdict == _ACCEPT

    @property
    def rejected(self) -> bool:
        return self.verdict == _REJECT

    @property
    def needs_more(self) -> bool:
        return self.verdict == _NEED_MORE


class SourceGroup:
    """A group of the farm's sources. Made by Setup.group()."""

    def __init__(self, name: str, handle: int, sources: list[int]) -> None:
        self.name = name
        self.handle = handle
        self.sources = sources  # ascending; masked sources are left out

    def __repr__(self) -> str:
        return f"SourceGroup({self.name!r}, {len(self.sources)} sources)"


Wanted = Union[int, SourceGroup, Iterable[int]]


def _split(wanted: Iterable[Wanted]) -> tuple[Sequence[int], Sequence[int]]:
    sources: list[int] = []
    groups: list[int] = []
    for one in wanted:
        if isinstance(one, SourceGroup):
            groups.append(one.handle)
        elif isinstance(one, (int, np.integer)):
            sources.append(source_number(one))
        else:
            sources.extend(source_number(source) for source in one)
    return sources, groups


def reject() -> Decision:
    """Drops the slice everywhere."""
    return Decision(_REJECT)


def accept(
    *,
    events: Iterable[tuple[int, Bytes]] = (),
    result: Bytes | None = None,
    keep: str | Iterable[int] = "all",
    stream: int = 0,
    prescaled: tuple[int, int] | None = None,
) -> Decision:
    """Stores the slice.

    events: output events (id, bytes). result: the filter result. keep: raw data to store: "all", "none" or source
    numbers. stream: bits of Setup.stream(), instead of the default stream. prescaled: (n, counter) records that the
    slice is the counter-th, from 1, of those accepted one in n.
    """
    decision = Decision(_ACCEPT)
    decision.events = events
    decision.result = result
    decision.streams = whole(stream, "stream", 64)
    if isinstance(keep, str):
        if keep not in ("all", "none"):
            raise ValueError(f"keep={keep!r} is not 'all', 'none' or a list of sources")
        decision.keep = _KEEP_ALL if keep == "all" else _KEEP_NONE
    else:
        decision.keep = _KEEP_LISTED
        decision.sources = [source_number(source) for source in keep]
    if prescaled is not None:
        n, counter = prescaled
        decision.prescale, decision.counter = whole(n, "prescale", 32, 1), whole(counter, "prescale counter", 64)
    return decision


def need(*wanted: Wanted, prefetch: Iterable[Wanted] = ()) -> Decision:
    """Requests fragments for the next step: source numbers, lists of them, or groups of Setup.group().

    prefetch: what the step after the next one will probably need; a hint.
    """
    decision = Decision(_NEED_MORE)
    decision.sources, decision.groups = _split(wanted)
    decision.prefetch = _split(prefetch)
    return decision


def need_all() -> Decision:
    """Requests every fragment that was not requested before."""
    decision = Decision(_NEED_MORE)
    decision.need_all = True
    return decision


def forward(group: str, payload: Bytes = b"") -> Decision:
    """Hands the slice to a DCM of that group. Its filter reads `payload` as Slice.forwarded."""
    decision = Decision(_FORWARD)
    decision.payload = (group, payload)
    return decision


class Counter:
    """A number that all instances add to. Made by Setup.counter()."""

    def __init__(self, add: Callable[[int], None]) -> None:
        self._add = add

    def add(self, amount: int = 1) -> None:
        """Adds `amount`, which is not negative: a counter never decreases."""
        self._add(amount if type(amount) is int and 0 <= amount < _MASK else whole(amount, "amount", 64))


Values = Union[float, npt.ArrayLike]
Axis = tuple[int, float, float]  # bins of equal width over [low, high)


class Histogram:
    """A histogram of the run. Made by Setup.book_histogram() with one axis."""

    def __init__(self, fill: Callable[[Values, Values, Values, Slice | None], None]) -> None:
        self._fill = fill

    def fill(self, x: Values, weight: Values = 1.0, slice: Slice | None = None) -> None:
        """Adds an entry, or one for each item of an array. `slice` is needed in process_many() alone."""
        self._fill(x, 0.0, weight, slice)


class Histogram2D:
    """A histogram over two axes, or a profile: the mean of y in bins of x."""

    def __init__(self, fill: Callable[[Values, Values, Values, Slice | None], None]) -> None:
        self._fill = fill

    def fill(self, x: Values, y: Values, weight: Values = 1.0, slice: Slice | None = None) -> None:
        """As Histogram.fill()."""
        self._fill(x, y, weight, slice)


class RunInfo:
    """A run that begins."""

    def __init__(self, run: int, start_time_ns: int, sources: list[int]) -> None:
        self.run = run
        self.start_time_ns = start_time_ns  # UTC
        self.sources = sources  # ascending, without masked ones


class Services:
    """Functions of a filter's host, for Setup."""

    def log(self, level: int, text: str) -> None:
        raise NotImplementedError

    def stream(self, name: str) -> int:
        raise NotImplementedError

    def counter(self, name: str) -> Callable[[int], None]:
        raise NotImplementedError

    def group(self, name: str) -> tuple[int, list[int]] | None:
        raise NotImplementedError

    def book(self, kind: int, name: str, x: Axis, y: Axis) -> Callable[[Values, Values, Values, Slice | None], None]:
        raise NotImplementedError


_ONE, _TWO, _PROFILE = 1, 2, 3
_NO_AXIS = (0, 0.0, 0.0)
_LEVELS = {"debug": 0, "info": 1, "warning": 2, "error": 3}


class Setup(Parameters):
    """The argument of Filter.__init__: the farm file's parameters, and the farm's services."""

    def __init__(self, values: dict[str, str], services: Services) -> None:
        super().__init__(values)
        self.services = services

    def counter(self, name: str) -> Counter:
        return Counter(self.services.counter(name))

    def book_histogram(self, name: str, bins: int, low: float, high: float) -> Histogram:
        """Books a histogram of the run. Instances and processes add up under one name."""
        return Histogram(self.services.book(_ONE, name, (bins, low, high), _NO_AXIS))

    def book_histogram_2d(self, name: str, x: Axis, y: Axis) -> Histogram2D:
        """Books a histogram over two axes, (bins, low, high) each."""
        return Histogram2D(self.services.book(_TWO, name, x, y))

    def book_profile(self, name: str, bins: int, low: float, high: float) -> Histogram2D:
        """Books the mean and deviation of y in bins of x."""
        return Histogram2D(self.services.book(_PROFILE, name, (bins, low, high), _NO_AXIS))

    def stream(self, name: str) -> int:
        """Returns the stream's bit. Raises ValueError if the farm has no such stream."""
        bit = self.services.stream(name)
        if bit == 0:
            raise ValueError(f"the farm has no stream '{name}': add it to its list of streams")
        return bit

    def group(self, name: str) -> SourceGroup:
        """Returns the farm's source group of this name. Raises ValueError if the farm has no such group."""
        found = self.services.group(name)
        if found is None:
            raise ValueError(f"it needs source group '{name}'")
        return SourceGroup(name, *found)

    def log(self, text: str, level: str = "info") -> None:
        """Writes a line into the farm's log; the module logging does the same."""
        self.services.log(_LEVELS[level], text)


T = TypeVar("T")


class Memory(Generic[T]):
    """Objects that slices remember between their steps, by number."""

    def __init__(self) -> None:
        self._items: dict[int, T] = {}
        self._next = 1

    def add(self, item: T) -> int:
        number, self._next = self._next, self._next + 1
        self._items[number] = item
        return number

    def get(self, number: int) -> T | None:
        return self._items.get(number)

    def drop(self, number: int) -> None:
        self._items.pop(number, None)


_ENDED = "the slice ended with process(): keep numbers or copies of what you need"


class Fragment:
    """One source's part of a slice."""

    __slots__ = ("_address", "_array", "_slice", "crc32c", "length", "reason", "source", "status", "total")

    def __init__(self, owner: Slice, row: tuple[int, ...]) -> None:
        self.source, status, reason, _, self._address, length, self.total, self.crc32c, _ = row
        self.status = STATUS[status]  # of weir_daq.STATUS
        self.reason = REASON[reason] if reason < len(REASON) else str(reason)  # "none" unless missing
        self.length = length if self._address else 0  # bytes
        self._slice: Slice | None = owner
        self._array: Array | None = None

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        return f"Fragment(source={self.source}, status={self.status!r}, length={self.length})"

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def missing(self) -> bool:
        return self.status == "missing"

    @property
    def requested(self) -> bool:
        return self.status != "not_requested"

    @property
    def data(self) -> Array:
        """The bytes: a read-only view without a copy, valid until process() returns."""
        if self._array is None:
            if self._slice is None:
                raise ValueError(_ENDED)
            self._array = self._slice._view(self._address, self.length)
            self._slice._touched.append(self)
        return self._array

    def array(self, dtype: npt.DTypeLike = np.uint8, offset: int = 0, count: int = -1) -> Array:
        """Returns the bytes from `offset` as `count` items of `dtype` (-1: all), a view as data is."""
        kind = np.dtype(dtype)
        data = self.data[offset:]
        if count >= 0:
            if count * kind.itemsize > len(data):
                raise ValueError(
                    f"source {self.source}: {count} items of {kind} at byte {offset} are outside of {self.length} bytes"
                )
            data = data[: count * kind.itemsize]
        elif len(data) % kind.itemsize:
            raise ValueError(
                f"source {self.source}: {len(data)} bytes are not a multiple of the {kind.itemsize} of {kind}"
            )
        return data.view(kind)

    def hits(self) -> Array:
        """Returns the hits as an array of weir_daq.HIT, for data in the format of the `hits` source."""
        return decode_hits(self.data.data) if self.length else np.empty(0, HIT)


class Slice:
    """A slice at one step. Views of its bytes are valid until process() returns."""

    __slots__ = ("_address", "_alert", "_fills", "_flags", "_forwarded", "_fragments", "_memory", "_raw", "_remembers",
                 "_rows", "_seed", "_state", "_table", "_touched", "_trigger", "attempt", "duration_ns", "id", "run",
                 "step", "time_ns", "trigger_type")  # fmt: skip

    def __init__(self, raw: memoryview, address: int, memory: Memory[Any]) -> None:
        (_, self.run, self.id, self.attempt, self.step, self.time_ns, self.duration_ns, self.trigger_type,
         trigger_size, trigger, self._flags, rows, stride, _, table, self._state, forwarded, forwarded_size,
         _) = _SLICE.unpack_from(raw, address)  # fmt: skip
        self._raw = raw
        self._address = address
        self._memory = memory
        self._trigger = (trigger, trigger_size)
        self._forwarded = (forwarded, forwarded_size)
        self._table = (table, rows, stride)
        self._rows: list[tuple[int, ...]] | None = None
        self._fragments: list[Fragment] | None = None
        self._touched: list[Fragment] = []
        self._seed: int | None = None
        self._remembers: Any = None
        self._fills: list[tuple[Any, ...]] = []  # of process_many()
        self._alert: tuple[int, int, str] | None = None

    def __repr__(self) -> str:
        return f"Slice(id={self.id}, run={self.run}, step={self.step}, fragments={self._table[1]})"

    def __len__(self) -> int:
        return int(self._table[1])

    def alert(self, reason: str, before_s: float = 0, after_s: float = 0) -> None:
        """Gives a burst alert: raw data of the slices around this one are saved, rejected ones too.

        before_s, after_s: the window, in seconds, up to ten days; 0 and 0: burst.before_s and burst.after_s of the farm
        file. The farm takes one alert of filters per burst.filter_alert_s (10 s).
        """
        before, after = _window_s(before_s, "before_s"), _window_s(after_s, "after_s")
        self._alert = (round(before * 1000), round(after * 1000), str(reason))

    @property
    def complete(self) -> bool:
        """No requested fragment is missing, truncated or corrupt."""
        return not self._flags & _INCOMPLETE

    @property
    def trigger_payload(self) -> bytes:
        return self._copy(*self._trigger)

    @property
    def forwarded(self) -> bytes:
        """The bytes that the filter of an earlier group of DCMs passed to forward()."""
        return self._copy(*self._forwarded)

    @property
    def rows(self) -> list[tuple[int, ...]]:
        """The table as tuples in the order of TABLE; faster than `table` for few sources."""
        if self._rows is None:
            table, rows, stride = self._table
            raw = self._checked()
            if stride == _ROW.size:
                self._rows = list(_ROW.iter_unpack(raw[table : table + rows * stride]))
            else:
                self._rows = [_ROW.unpack_from(raw, table + i * stride) for i in range(rows)]
        return self._rows

    @property
    def table(self) -> Array:
        """The sources' status and lengths as a NumPy array of TABLE, sorted by source."""
        return np.array(self.rows, TABLE)

    @property
    def size(self) -> int:
        """Bytes of all fragments that have arrived."""
        return sum(row[5] for row in self.rows if row[4])

    @property
    def fragments(self) -> list[Fragment]:
        """A fragment per source, sorted by source."""
        if self._fragments is None:
            self._fragments = [Fragment(self, row) for row in self.rows]
        return self._fragments

    def __iter__(self) -> Any:
        return iter(self.fragments)

    def fragment(self, source: int) -> Fragment | None:
        """Returns the fragment of `source`; None if the slice has no such source."""
        all_of_them = self.fragments
        if not all_of_them:
            return None
        guess = source - all_of_them[0].source
        if 0 <= guess < len(all_of_them) and all_of_them[guess].source == source:
            return all_of_them[guess]
        return next((one for one in all_of_them if one.source == source), None)

    def array(self, source: int, dtype: npt.DTypeLike = np.uint8) -> Array:
        """Returns the bytes of `source` as an array; an empty one if it has no bytes here."""
        found = self.fragment(source)
        return np.empty(0, dtype) if found is None or not found.length else found.array(dtype)

    def hits(self) -> Array:
        """Returns all hits as a new array of HITS, for data in the format of the `hits` source."""
        parts = [(one.source, one.hits()) for one in self.fragments if one.length]
        out = np.empty(sum(len(hits) for _, hits in parts), HITS)
        at = 0
        for source, hits in parts:
            part = out[at : at + len(hits)]
            part["source"] = source
            for name in ("channel", "time_ns", "tot_ns"):
                part[name] = hits[name]
            at += len(hits)
        return out

    @property
    def remembered(self) -> Any:
        """The object of remember() at an earlier step of this slice; None at first."""
        number = int.from_bytes(self._checked()[self._state : self._state + 8], "little")
        return self._memory.get(number) if number else None

    def remember(self, item: Any) -> None:
        """Keeps an object for the next step of this slice, for need() and need_all()."""
        self._remembers = item

    def random(self) -> int:
        """Returns the next 64 bits of a sequence that depends on run, slice and step alone."""
        if self._seed is None:
            self._seed = (_mix(_mix(_mix(self.run) ^ self.id) ^ self.step) << 64)
        self._seed += 1  # the draws are counted in the low half
        return _mix((self._seed >> 64) ^ _mix(self._seed & _MASK))

    def uniform(self) -> float:
        """Returns the next number of random() in [0, 1)."""
        return float((self.random() >> 11) * 2.0**-53)

    def _checked(self) -> memoryview:
        if self._raw is None:
            raise ValueError(_ENDED)
        return self._raw

    def _copy(self, address: int, size: int) -> bytes:
        return bytes(self._checked()[address : address + size]) if address else b""

    def _view(self, address: int, length: int) -> Array:
        return np.asarray(self._checked()[address : address + length])

    def _end(self) -> list[Array]:
        """Ends all access through the slice and its fragments. Returns the arrays that it has made."""
        views = [one._array for one in self._touched if one._array is not None]
        for one in self._touched:
            one._array = None
        for one in self._fragments or ():
            one._slice = None
        self._touched = []
        self._raw = None  # type: ignore[assignment]
        return views


def _references(items: list[Any]) -> int:
    return max(map(sys.getrefcount, items), default=0)


_UNSHARED = _references([np.empty(1)])


def are_referred_to(views: list[Any]) -> bool:
    """Returns True if something besides the list refers to one of the arrays, or to a view of it."""
    return _references(views) > _UNSHARED
