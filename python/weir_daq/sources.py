"""Sources in Python: the class that a front-end derives from (docs/writing-a-source.md).

    import weir_daq

    class Ramp(weir_daq.Source):
        '''`length` bytes of the slice's number'''

        def __init__(self, setup):
            self.length = setup.parameter("length", 1000)

        def fragment(self, slice_id):
            return bytes([slice_id % 256]) * self.length
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from .parameters import ParameterError, Parameters, whole

__all__ = ["Counter", "ParameterError", "RunInfo", "Source", "SourceSetup"]

Bytes = Union[bytes, bytearray, memoryview, npt.NDArray[Any]]
_STATUS = {"ok": 0, "truncated": 2, "corrupt": 3, "suppressed": 4}
_LEVELS = {"debug": 0, "info": 1, "warning": 2, "error": 3}


# LaneStamp of libs/readout/source_host/include/weir/source_host/lane.hpp
_HAS_COUNTER, _HAS_TIME = 1, 2
_STAMP = struct.Struct("<IIQqq")
STAMP_DTYPE = np.dtype(
    [("has", "<u4"), ("reserved", "<u4"), ("counter", "<u8"), ("time_ns", "<i8"), ("duration_ns", "<i8")]
)


class RunInfo(NamedTuple):
    number: int
    first_slice: int  # no lower one is announced


class SourceServices:
    """Functions of a source's host, for Source."""

    def send(self, source: int, slice_id: int, status: int, data: Bytes, stamp: bytes | None = None) -> bool:
        raise NotImplementedError

    def send_many(
        self,
        source: int,
        slice_ids: Sequence[int],
        data: Sequence[Bytes | None] | npt.NDArray[Any],
        stamps: npt.NDArray[Any] | None = None,
    ) -> bool:
        raise NotImplementedError

    def log(self, level: int, text: str) -> None:
        raise NotImplementedError

    def count(self, name: str, amount: int) -> None:
        raise NotImplementedError

    def note_time(self, time_ns: int) -> None:
        raise NotImplementedError

    def passed(self, source: int, time_ns: int, gap: bool) -> None:
        raise NotImplementedError


class Counter:
    """A number in the run's summary, as `source.NAME`."""

    def __init__(self, name: str, count: Callable[[str, int], None]) -> None:
        self._name, self._count = name, count

    def add(self, amount: int = 1) -> None:
        self._count(self._name, whole(amount, "amount", 64))


class SourceSetup(Parameters):
    """The argument of Source.__init__: the farm file's parameters, and the source's place in the farm."""

    noun = "source"

    def __init__(self, values: dict[str, str], source: int, readout: str = "readout-0", index: int = 0) -> None:
        super().__init__(values)
        self.source = source
        self.readout = readout
        self.index = index  # of the readout


class Source:
    """One source of a readout. A subclass has one of these:

    fragment(self, slice_id)      returns the slice's bytes, or None if there are none
    fragments(self, slice_ids)    the same for a list of slices: a list, or an array with a row for each
    run(self)                     calls deliver() as data arrive, until `running` is False; in a thread of its own
    """

    source: int = 0  # its number
    running: bool = False
    _services: SourceServices

    # The subclass need not call the constructor of this class.
    def __init__(self, setup: SourceSetup) -> None:
        pass

    def announced(self, slice_id: int, time_ns: int) -> None:
        """Receives each announced slice, with its time (UTC)."""

    def begin_run(self, run: RunInfo) -> None:
        pass

    def end_run(self) -> None:
        pass

    def deliver(
        self,
        slice_id: int,
        data: Bytes,
        *,
        time_ns: int | None = None,
        duration_ns: int = 0,
        counter: int | None = None,
        status: str = "ok",
    ) -> bool:
        """Hands over the bytes of a slice, in any order of slices; waits while the readout has no room.

        `time_ns`: when the data were taken (UTC), and for how long (`duration_ns`): the summary then has the mean
        delay. `counter`: the front-end's own count of its triggers. The farm file's section `build` compares both with
        the slice. `status`: "truncated", "corrupt" and "suppressed" mark the fragment. Returns False outside a run. For
        any thread.
        """
        if not self.running:
            return False
        if time_ns is not None:
            self._services.note_time(time_ns)
        number = whole(slice_id, "slice id", 64)
        if time_ns is None and counter is None:
            return self._services.send(self.source, number, _STATUS[status], data)
        has = (0 if counter is None else _HAS_COUNTER) | (0 if time_ns is None else _HAS_TIME)
        stamp = _STAMP.pack(has, 0, whole(counter or 0, "counter", 64), time_ns or 0, duration_ns)
        return self._services.send(self.source, number, _STATUS[status], data, stamp)

    def deliver_many(
        self,
        slice_ids: Sequence[int],
        data: Sequence[Bytes | None] | npt.NDArray[Any],
        *,
        time_ns: Sequence[int] | npt.NDArray[Any] | None = None,
        duration_ns: int = 0,
        counter: Sequence[int] | npt.NDArray[Any] | None = None,
    ) -> bool:
        """Hands over the bytes of many slices: a list, or an array with a row for each. Otherwise as deliver().

        None in the list: the slice has no data. `time_ns` and `counter`: one for each slice.
        """
        if not self.running:
            return False
        if time_ns is None and counter is None:
            return self._services.send_many(self.source, slice_ids, data)
        stamps = np.zeros(len(slice_ids), STAMP_DTYPE)
        if counter is not None:
            stamps["has"] |= _HAS_COUNTER
            stamps["counter"] = np.asarray(counter, np.uint64)
        if time_ns is not None:
            stamps["has"] |= _HAS_TIME
            stamps["time_ns"] = np.asarray(time_ns, np.int64)
            stamps["duration_ns"] = duration_ns
        return self._services.send_many(self.source, slice_ids, data, stamps)

    def deliver_piece(self, time_ns: int, data: Bytes, *, duration_ns: int = 0, status: str = "ok") -> bool:
        """Hands over data of one moment (a hit, a frame) in a farm with `build.by: time`, in nearly any order.

        `time_ns`: UTC by the front-end's clock, at the begin of the data. Otherwise as deliver().
        """
        return self.deliver(0, data, time_ns=time_ns, duration_ns=duration_ns, status=status)

    def passed(self, time_ns: int, *, gap: bool = False) -> None:
        """Reports progress (`build.by: time`): no more data that begin before `time_ns` will be delivered.

        Windows that end by then are built. Call it at least every few milliseconds, with or without data. `gap`: data
        since the last call may be lost, and the windows that need them are marked truncated. For any thread.
        """
        if self.running:
            self._services.passed(self.source, whole(time_ns, "time", 63), gap)

    def counter(self, name: str) -> Counter:
        return Counter(name, self._services.count)

    def log(self, text: str, level: str = "info") -> None:
        """Writes a line into the farm's log; the module logging does the same."""
        self._services.log(_LEVELS[level], text)


def as_bytes(data: Any) -> Any:
    """Returns contiguous bytes of bytes-like data. Raises TypeError for anything else."""
    if type(data) is bytes:
        return data
    if isinstance(data, np.ndarray):
        return np.ascontiguousarray(data).data.cast("B") if data.size else b""
    if isinstance(data, (bytearray, memoryview)):
        view = memoryview(data)
        return view if view.contiguous and view.ndim == 1 and view.itemsize == 1 else view.tobytes()
    raise TypeError(f"a fragment is bytes, a memoryview or a NumPy array, not {type(data).__name__}")
