"""Run files, memory-mapped: libs/records/storage/FORMAT.md."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from .errors import FormatError
from .hits import Array, Bytes
from .record import Slice, crc32c, open_slice, parse_slice

SLICE, BEGIN, END, DEAD_LIST, INDEX, FOOTER = 1, 2, 3, 4, 5, 6  # record types

# A line of a file's index.
ENTRY = np.dtype(
    [
        ("id", "<u8"),
        ("offset", "<u8"),  # of the record's head
        ("length", "<u8"),  # of the record's body
        ("streams", "<u8"),
        ("time_ns", "<i8"),
        ("attempt", "<u2"),
        ("epoch", "<u2"),
        ("flags", "<u2"),
        ("dead", "<u2"),
    ]
)
DEAD = np.dtype([("id", "<u8"), ("attempt", "<u2"), ("epoch", "<u2"), ("sequence", "<u4")])

FILE_MAGIC = b"\x89WEIR\r\n\x1a"
END_MAGIC = b"\x89WEIREND"
RECORD_MAGIC = b"WREC"
FILE_HEAD = struct.Struct("<8sHHIIIqQHHI")
RECORD_HEAD = struct.Struct("<4sIQQHHI")
FOOTER_BODY = struct.Struct("<IIQQQQQQQ8s")
LINES = struct.Struct("<IIQ")
_VERSION = 1
_FOOTER_BYTES = RECORD_HEAD.size + FOOTER_BODY.size


_CONTENT_AT = 8  # in the body of a begin-of-run or end-of-run record, behind its checksum


def padded(length: int) -> int:
    return (length + 7) // 8 * 8


class RunFile:
    """One run file. Opening it maps the file and checks its header; everything else is read when first used.

    Errors: FormatError for bytes that break the format, OSError where the file cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        with open(self.path, "rb") as file:
            if os.fstat(file.fileno()).st_size < FILE_HEAD.size:
                raise FormatError(f"{self.path}: not a run file: it is too short")
            self.data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        magic, version, _, length, self.run, self.sequence, self.created_ns, _, writer, farm, _ = (
            FILE_HEAD.unpack_from(self.data)
        )
        if magic != FILE_MAGIC:
            raise FormatError(f"{self.path}: not a run file")
        if version != _VERSION:
            raise FormatError(f"{self.path}: a run file of version {version}: this reader reads version {_VERSION}")
        if length > len(self.data) or length != padded(FILE_HEAD.size + writer + farm + 4):
            raise FormatError(f"{self.path}: its header is damaged")
        self.begin = length
        self.tag: int = struct.unpack_from("<I", self.data, length - 4)[0]
        names = bytes(self.data[FILE_HEAD.size : FILE_HEAD.size + writer + farm])
        self.writer = names[:writer].decode("utf-8", "replace")
        self.farm = names[writer:].decode("utf-8", "replace")

    def __repr__(self) -> str:
        return f"RunFile({self.path!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return RunFile, (self.path,)

    @cached_property
    def footer(self) -> tuple[int, ...] | None:
        """The footer's numbers; None unless footer and index are present and sound."""
        at = len(self.data) - _FOOTER_BYTES
        if at < self.begin or bytes(self.data[-8:]) != END_MAGIC or self._head(at) != (FOOTER, FOOTER_BODY.size):
            return None
        numbers: tuple[int, ...] = FOOTER_BODY.unpack_from(self.data, at + RECORD_HEAD.size)
        if crc32c(self.data[at + RECORD_HEAD.size + 4 :]) != numbers[0]:
            return None
        index_at, index_bytes, lines = numbers[2:5]
        if self._head(index_at) != (INDEX, index_bytes) or index_bytes != LINES.size + lines * ENTRY.itemsize:
            return None
        body = self.data[index_at + RECORD_HEAD.size : index_at + RECORD_HEAD.size + index_bytes]
        return numbers if crc32c(body[4:]) == LINES.unpack_from(body)[0] else None

    @property
    def ended(self) -> bool:
        """True if a writer closed the file, regardless of later damage."""
        return bytes(self.data[-8:]) == END_MAGIC

    @cached_property
    def index(self) -> Array:
        """A line of ENTRY for each slice record, dead copies included. Slow for a file without a sound footer."""
        if self.footer is None:
            return self._scan()
        at = self.footer[2] + RECORD_HEAD.size + LINES.size
        return np.frombuffer(self.data, ENTRY, self.footer[4], at)

    @cached_property
    def dead_copies(self) -> Array:
        """Lines of DEAD: copies here or in earlier files of the writer that do not count."""
        start = self.begin if self.footer is None else self.footer[5]
        found = [self._dead_lines(body) for _, kind, body in self.records(start) if kind == DEAD_LIST]
        return np.concatenate(found) if found else np.empty(0, DEAD)

    @property
    def begin_of_run(self) -> bytes:
        """The begin-of-run record's content: the farm file with every key, YAML. Raises FormatError if damaged."""
        return self._content(BEGIN, self.begin)

    @property
    def end_of_run(self) -> bytes:
        """The end-of-run record's content; empty in all but a writer's last file."""
        return self._content(END, self.begin if self.footer is None else self.footer[5])

    def slice_at(self, offset: int, length: int, check: bool = False) -> Slice:
        """Returns the slice of an index line. Raises FormatError if no slice record is there.

        `check` compares the meta part's checksum and checks the tables now, not when they are read.
        """
        if self._head(offset) != (SLICE, length):
            raise FormatError(f"{self.path}: no slice record at byte {offset}: run `weir file verify`")
        at = offset + RECORD_HEAD.size
        try:
            view = self.data[at : at + length]
            return parse_slice(view, check=True) if check else open_slice(view)
        except FormatError as error:
            raise FormatError(f"{self.path}: {error}") from None

    def records(self, start: int) -> Iterator[tuple[int, int, memoryview]]:
        """Yields (offset, type, body) of each record from `start` on; skips to the next head past damage."""
        at = start
        while at + RECORD_HEAD.size <= len(self.data):
            head = self._head(at)
            if head is None:
                at += 8
                continue
            body = at + RECORD_HEAD.size
            yield at, head[0], self.data[body : body + head[1]]
            at = body + padded(head[1])

    def _head(self, at: int) -> tuple[int, int] | None:
        if at % 8 or at + RECORD_HEAD.size > len(self.data) or self.data[at : at + 4] != RECORD_MAGIC:
            return None
        _, tag, offset, body, kind, _, crc = RECORD_HEAD.unpack_from(self.data, at)
        if tag != self.tag or offset != at or padded(body) > len(self.data) - at - RECORD_HEAD.size:
            return None
        return (kind, body) if crc32c(self.data[at : at + RECORD_HEAD.size - 4]) == crc else None

    def _scan(self) -> Array:
        # Without the end magic every fragment has to be sound: a crash may have torn the record.
        lines = []
        for at, kind, body in self.records(self.begin):
            if kind != SLICE:
                continue
            try:
                one = parse_slice(body, check=True)
            except FormatError:
                continue
            if self.ended or all(fragment.is_sound() for fragment in one.fragments):
                lines.append(
                    (one.id, at, len(body), one.streams, one.time_ns, one.attempt, one.epoch, one.flags, 0)
                )
        return np.array(lines, ENTRY)

    def _dead_lines(self, body: Bytes) -> Array:
        view = memoryview(body)
        if len(view) < LINES.size:
            return np.empty(0, DEAD)
        crc, line, count = LINES.unpack_from(view)
        if line != DEAD.itemsize or len(view) != LINES.size + count * line or crc32c(view[4:]) != crc:
            return np.empty(0, DEAD)
        return np.frombuffer(view, DEAD, count, LINES.size)

    def _content(self, wanted: int, start: int) -> bytes:
        damaged = FormatError(
            f"{self.path}: the {'begin' if wanted == BEGIN else 'end'}-of-run record is damaged: run `weir file verify`"
        )
        for at, kind, body in self.records(start):
            if kind == wanted:
                if len(body) < _CONTENT_AT or crc32c(body[4:]) != int.from_bytes(body[:4], "little"):
                    raise damaged
                return bytes(body[_CONTENT_AT:])
            if wanted == BEGIN:
                if at != start:
                    raise damaged
                break
        return b""


def read_run_file(path: str | os.PathLike[str], check: bool = False) -> Iterator[Slice]:
    """Yields every slice record of one file in file order, dead copies included. `check` compares meta checksums.

    Stops at the first incomplete record of a file that was not closed.
    """
    file = RunFile(path)
    at = file.begin
    while at + RECORD_HEAD.size <= len(file.data):
        magic, tag, offset, length, kind, _, _ = RECORD_HEAD.unpack_from(file.data, at)
        if magic != RECORD_MAGIC or tag != file.tag or offset != at:
            raise FormatError(f"{file.path}: no record at byte {at}: run `weir file verify`")
        body = at + RECORD_HEAD.size
        if length > len(file.data) - body:
            return
        if kind == SLICE:
            yield parse_slice(file.data[body : body + length], check)
        at = body + padded(length)
