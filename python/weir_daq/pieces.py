"""Pieces of a window of time, in the fragments of a farm with `build.by: time` (docs/building.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from .errors import FormatError
from .hits import Array, Bytes

# A row of the table; the layout is in libs/readout/source/FORMAT.md.
PIECE = np.dtype(
    [("offset_ns", "<i8"), ("duration_ns", "<i8"), ("length", "<u4"), ("flags", "u1"), ("status", "u1"), ("", "<u2")]
)
BORDER = 1  # flag: a neighbouring time slice has the piece, too
_HEADER = struct.Struct("<4sIqqqq")
_MAGIC = b"WPC1"


@dataclass(frozen=True)
class Pieces:
    """The data of one source in the window [time - before, time + duration + after)."""

    time_ns: int  # UTC: begin of the time slice, or moment of the event
    duration_ns: int  # 0: an event
    before_ns: int
    after_ns: int
    table: Array  # of PIECE, ascending in offset_ns
    payload: memoryview

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, index: int) -> memoryview:
        """Returns the bytes of one piece."""
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        ends = np.cumsum(self.table["length"], dtype=np.int64)
        end = int(ends[index])
        return self.payload[end - int(self.table["length"][index]) : end]

    @property
    def begin_here(self) -> Array:
        """Returns for each piece whether it begins in the time slice itself: so it does in exactly one."""
        offset: Array = self.table["offset_ns"]
        inside: Array = (offset >= 0) & (offset < self.duration_ns)
        return inside


def is_pieces(data: Bytes) -> bool:
    """Returns whether a fragment begins like a window's."""
    return bytes(memoryview(data)[:4]) == _MAGIC


def decode_pieces(data: Bytes) -> Pieces:
    """Returns a fragment's pieces. Raises FormatError for other or damaged bytes."""
    view = memoryview(data)
    if len(view) < _HEADER.size or not is_pieces(view):
        raise FormatError("these are not the pieces of a window of time")
    _, count, time_ns, duration_ns, before_ns, after_ns = _HEADER.unpack_from(view)
    start = _HEADER.size + count * PIECE.itemsize
    if start > len(view):
        raise FormatError(f"the table of {count} pieces is cut off")
    table: Array = np.frombuffer(view, PIECE, count, _HEADER.size)
    if start + int(table["length"].sum(dtype=np.int64)) != len(view):
        raise FormatError(f"the bytes of {count} pieces do not end with the fragment")
    offset = table["offset_ns"]
    ordered = bool((offset[1:] >= offset[:-1]).all() and (table["duration_ns"] >= 0).all())
    if not ordered or min(duration_ns, before_ns, after_ns) < 0:
        raise FormatError("the table of pieces is damaged")
    return Pieces(time_ns, duration_ns, before_ns, after_ns, table, view[start:])
