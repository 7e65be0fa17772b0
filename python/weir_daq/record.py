"""Slice records, as libs/records/storage/FORMAT.md specifies them byte by byte."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from ._packages import need
from ._tables import DECISION, REASON, STATUS
from .errors import FormatError
from .hits import Array, Bytes, decode_hits, hits_of

STREAM_DEFAULT = 1
STREAM_DEBUG = 1 << 63
INCOMPLETE, UNFILTERED, POISON = 1, 2, 4  # Slice.flags
KEPT, CHECKSUMMED = 1, 2  # TABLE["flags"]

# A line of a slice's fragment table.
TABLE = np.dtype(
    [
        ("source", "<u4"),
        ("status", "u1"),
        ("reason", "u1"),
        ("flags", "<u2"),
        ("offset", "<u8"),
        ("stored", "<u4"),
        ("total", "<u4"),
        ("crc32c", "<u4"),
        ("stored_crc32c", "<u4"),
    ]
)
# A line of a slice's event table.
EVENTS = np.dtype([("id", "<u8"), ("offset", "<u4"), ("length", "<u4")])

_HEAD = struct.Struct("<IHHQIIQIHHqqIBBHQIIIIQ")
_LAYOUT = 1


@dataclass(frozen=True)
class Fragment:
    """One source's part of a slice. Its bytes are a view of the record."""

    source: int
    status: str  # of STATUS
    reason: str  # of REASON; "none" unless missing
    kept: bool  # the bytes are in the record
    total: int  # bytes that the source held; 0: not known
    data: memoryview
    crc32c: int | None  # of data; None: the run had no checksums

    def __len__(self) -> int:
        return len(self.data)

    def array(self, dtype: npt.DTypeLike = np.uint8) -> Array:
        """Returns the bytes as an array of `dtype`, without a copy. Raises FormatError if they do not divide."""
        kind = np.dtype(dtype)
        if len(self.data) % kind.itemsize:
            raise FormatError(
                f"source {self.source}: {len(self.data)} bytes are not a multiple of the {kind.itemsize} of {kind}"
            )
        return np.frombuffer(self.data, kind)

    def hits(self) -> Array:
        """Returns the hits as an array of HIT, without a copy unless some have waveforms, which are left out."""
        return decode_hits(self.data)

    def is_sound(self) -> bool:
        """Compares the bytes with their checksum."""
        return self.crc32c is None or not self.kept or crc32c(self.data) == self.crc32c


class Slice:
    """A stored slice. Arrays and bytes are views of the record; parts are decoded when first used."""

    def __init__(self, view: memoryview, head: tuple[int, ...]) -> None:
        self._view = view
        (_, _, self.flags, _, self._meta, self._fragment_count, self.id, self.run, self.attempt, self.epoch,
         self.time_ns, self.duration_ns, self.trigger_type, self._decision, _, self.dcm, self.streams, self.prescale,
         self._trigger, self._result, self._event_count, _) = head  # fmt: skip

    def __repr__(self) -> str:
        fragments, size = self._fragment_count, len(self.payload)
        return f"Slice(id={self.id}, run={self.run}, fragments={fragments}, bytes={size})"

    @cached_property
    def table(self) -> Array:
        """Rows of TABLE, one per source; offsets count from the record's begin. Raises FormatError."""
        table = np.frombuffer(self._view, TABLE, self._fragment_count, _HEAD.size)
        _check_fragments(table, self.id, self._meta, len(self._view))
        return table

    def __reduce__(self) -> tuple[Any, ...]:
        return parse_slice, (bytes(self._view),)

    @property
    def record(self) -> memoryview:
        """The whole record's bytes."""
        return self._view

    @property
    def decision(self) -> str:
        """One of DECISION; undecided for a raw sample."""
        return _name(DECISION, self._decision)

    @property
    def complete(self) -> bool:
        return not self.flags & INCOMPLETE

    @property
    def sources(self) -> Array:
        return self.table["source"]

    @property
    def payload(self) -> Array:
        """The bytes of all kept fragments, in the order of the table, without gaps."""
        return np.frombuffer(self._view, np.uint8, offset=self._meta)

    @cached_property
    def fragments(self) -> list[Fragment]:
        return [self._fragment(line) for line in self.table.tolist()]

    @property
    def missing(self) -> list[Fragment]:
        return [one for one in self.fragments if one.status == "missing"]

    def fragment(self, source: int) -> Fragment | None:
        """Returns the fragment of `source`; None if the slice has no such source."""
        at = np.flatnonzero(self.table["source"] == source)
        return self._fragment(self.table[int(at[0])].tolist()) if len(at) else None

    def array(self, source: int, dtype: npt.DTypeLike = np.uint8) -> Array:
        """Returns the bytes of `source` as an array; an empty one if it has no bytes here."""
        found = self.fragment(source)
        return np.empty(0, dtype) if found is None else found.array(dtype)

    def hits(self) -> Any:
        """Returns {"source", "hits": {"channel", "time_ns", "tot_ns"}} of all kept fragments as an Awkward array."""
        return hits_of([self])[0]

    @property
    def event_table(self) -> Array:
        at = _HEAD.size + self._fragment_count * TABLE.itemsize
        table = np.frombuffer(self._view, EVENTS, self._event_count, at)
        if len(table):
            _check_events(table, self.id, self._small_parts() + self._trigger + self._result, self._meta)
        return table

    @property
    def events(self) -> list[tuple[int, memoryview]]:
        """The filter's output events: (id, bytes)."""
        return [(id_, self._view[at : at + length]) for id_, at, length in self.event_table.tolist()]

    @property
    def trigger_payload(self) -> memoryview:
        at = self._small_parts()
        return self._view[at : at + self._trigger]

    @property
    def filter_result(self) -> memoryview:
        at = self._small_parts() + self._trigger
        return self._view[at : at + self._result]

    def _small_parts(self) -> int:
        return _HEAD.size + self._fragment_count * TABLE.itemsize + self._event_count * EVENTS.itemsize

    def _fragment(self, line: tuple[int, ...]) -> Fragment:
        source, status, reason, flags, offset, stored, total, _, stored_crc = line
        return Fragment(
            source,
            _name(STATUS, status),
            _name(REASON, reason),
            bool(flags & KEPT),
            total,
            self._view[offset : offset + stored],
            stored_crc if flags & CHECKSUMMED else None,
        )


def _name(names: tuple[str, ...], index: int) -> str:
    return names[index] if index < len(names) else "unknown"


def parse_slice(record: Bytes, check: bool = False) -> Slice:
    """Returns the slice of a whole record, which refers to its bytes. `check` compares the meta part's checksum.

    Errors: FormatError for a record that breaks the format in any part.
    """
    view = memoryview(record)
    found = open_slice(view)
    if check and crc32c(view[4 : found._meta]) != int.from_bytes(view[:4], "little"):
        raise FormatError(f"slice {found.id}: the meta part's checksum does not match")
    found.table, found.event_table  # noqa: B018 (reading them checks them)
    return found


def open_slice(view: memoryview) -> Slice:
    """Returns the slice of a whole record with its head checked; its tables are checked when they are first read."""
    if len(view) < _HEAD.size:
        raise FormatError(f"a slice record of {len(view)} bytes is too short")
    head = _HEAD.unpack_from(view)
    _, layout, _, length, meta, fragments, slice_id = head[:7]
    if layout != _LAYOUT:
        raise FormatError(f"a slice record of layout {layout}: this reader reads layout {_LAYOUT}")
    if length != len(view) or meta > length or meta < _HEAD.size or meta % 8:
        raise FormatError(f"slice {slice_id}: a record of {len(view)} bytes claims {length}, {meta} of them meta part")
    trigger, result, events = head[18:21]
    if _HEAD.size + fragments * TABLE.itemsize + events * EVENTS.itemsize + trigger + result > meta:
        raise FormatError(f"slice {slice_id}: its tables lead outside of its meta part")
    return Slice(view, head)


def _check_fragments(table: Array, slice_id: int, meta: int, length: int) -> None:
    ends = np.cumsum(table["stored"], dtype=np.uint64)
    ends += np.uint64(meta)
    if len(table) == 0:
        if meta != length:
            raise FormatError(f"slice {slice_id}: {length - meta} bytes belong to no fragment")
        return
    wrong = table["offset"] + table["stored"] != ends
    if wrong.any():
        raise FormatError(f"slice {slice_id}: source {table['source'][wrong][0]} has a wrong offset")
    if int(ends[-1]) != length:
        raise FormatError(f"slice {slice_id}: its fragments end at {int(ends[-1])}, its record at {length}")


def _check_events(table: Array, slice_id: int, at: int, meta: int) -> None:
    ends = np.cumsum(table["length"], dtype=np.uint64) + np.uint64(at)
    if (table["offset"] + table["length"].astype(np.uint64) != ends).any() or int(ends[-1]) > meta:
        raise FormatError(f"slice {slice_id}: an output event leads outside of its meta part")


@lru_cache(maxsize=1)
def _crc32c() -> Callable[[Bytes], int]:
    function: Callable[[Bytes], int] = need("crc32c", "comparing checksums").crc32c
    return function


def crc32c(data: Bytes) -> int:
    """Returns the CRC32C of RFC 3720. Needs the package crc32c."""
    return _crc32c()(data)
