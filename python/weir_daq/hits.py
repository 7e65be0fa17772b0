"""Hits in the bytes of fragments, and those of many slices as one Awkward array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, Union

import numpy as np
import numpy.typing as npt

from ._packages import need
from .errors import FormatError

Array = npt.NDArray[Any]
Bytes = Union[bytes, bytearray, memoryview]

# A hit without waveform, as ANTARES and KM3NeT send it.
HIT = np.dtype([("channel", "u1"), ("time_ns", "<u4"), ("tot_ns", "u1")])
WAVEFORM = 0x80  # flag of a channel: a waveform follows
_WAVEFORM_BYTES = 256


class _Fragment(Protocol):
    @property
    def data(self) -> memoryview: ...


class _Slice(Protocol):
    """The part of record.Slice that is read."""

    @property
    def table(self) -> Array: ...
    @property
    def payload(self) -> Array: ...
    @property
    def fragments(self) -> Sequence[_Fragment]: ...


def decode_hits(data: Bytes) -> Array:
    """Returns a fragment's hits as an array of HIT; waveforms are left out. Raises FormatError at a cut hit.

    Of a window of time (`build.by: time`) it returns the hits in the time slice itself, so that each hit is in one
    slice, or all hits around an event. Their times count from the window's begin.
    """
    from .pieces import is_pieces

    view = memoryview(data)
    if is_pieces(view):
        return _decode_window(view)
    if len(view) % HIT.itemsize == 0:
        plain: Array = np.frombuffer(view, HIT)
        if not (plain["channel"] & WAVEFORM).any():
            return plain
    return _decode_mixed_hits(view)


def _decode_mixed_hits(view: memoryview) -> Array:
    found = bytearray()
    at = 0
    while at < len(view):
        length = HIT.itemsize
        if view[at] & WAVEFORM:
            samples = view[at + length] if at + length < len(view) else 0
            if not 1 <= samples <= 2:
                raise FormatError(f"the hit at byte {at} has a waveform of {samples} channels")
            length += 1 + samples * _WAVEFORM_BYTES
        if at + length > len(view):
            raise FormatError(f"the hit at byte {at} is cut off")
        found += bytes((view[at] & ~WAVEFORM,)) + view[at + 1 : at + HIT.itemsize]
        at += length
    return np.frombuffer(bytes(found), HIT)


def _decode_window(view: memoryview) -> Array:
    from .pieces import decode_pieces

    pieces = decode_pieces(view)
    ends = np.cumsum(pieces.table["length"], dtype=np.int64)
    parts = [decode_hits(pieces.payload[end - length : end]) for end, length in zip(ends, pieces.table["length"])]
    hits = np.concatenate(parts) if parts else np.empty(0, HIT)
    shifts = np.repeat(pieces.table["offset_ns"] + pieces.before_ns, [len(part) for part in parts])
    times = hits["time_ns"].astype(np.int64) + shifts
    is_slice = pieces.duration_ns > 0
    begin = pieces.before_ns if is_slice else 0
    end = pieces.before_ns + (pieces.duration_ns if is_slice else pieces.after_ns)
    inside = (times >= begin) & (times < end)
    hits, times = hits[inside], times[inside]
    if len(times) and times.max() > np.iinfo(np.uint32).max:
        raise FormatError("hits are more than 4.2 s after the begin of their window: read its pieces")
    hits["time_ns"] = times
    return hits


def _flat(one: _Slice) -> tuple[Array, Array]:
    """Returns all hits of a slice, and how many each source has."""
    stored = one.table["stored"]
    payload = one.payload
    if not (stored % HIT.itemsize).any():
        hits = payload.view(HIT)
        if not (hits["channel"] & WAVEFORM).any():
            return hits, stored // HIT.itemsize
    parts = [decode_hits(fragment.data) for fragment in one.fragments]
    counts = np.array([len(part) for part in parts], np.uint32)
    return (np.concatenate(parts) if parts else np.empty(0, HIT)), counts


def hits_of(slices: Iterable[_Slice]) -> Any:
    """Returns {"source": u4, "hits": var * {"channel", "time_ns", "tot_ns"}}, var per slice.

    Errors: FormatError for fragments that are not hits (libs/readout/source, hit.hpp), MissingPackageError.
    """
    ak = need("awkward", "hits as arrays")
    hits, counts, sources, rows = [], [], [], []
    for one in slices:
        flat, per_source = _flat(one)
        hits.append(flat)
        counts.append(per_source)
        sources.append(one.table["source"])
        rows.append(len(one.table))
    flat = np.concatenate(hits) if hits else np.empty(0, HIT)
    per_source = np.concatenate(counts) if counts else np.empty(0, np.uint32)
    source = np.concatenate(sources) if sources else np.empty(0, np.uint32)
    record = ak.zip({name: np.ascontiguousarray(flat[name]) for name in HIT.names or ()})
    by_source = ak.zip({"source": source, "hits": ak.unflatten(record, per_source)}, depth_limit=1)
    return ak.unflatten(by_source, np.array(rows, np.int64))
