"""Writes run files: libs/records/storage/FORMAT.md."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from types import TracebackType

import numpy as np

from ._packages import need
from .errors import ConvertError, FormatError
from .files import (
    BEGIN,
    DEAD_LIST,
    END,
    END_MAGIC,
    ENTRY,
    FILE_HEAD,
    FILE_MAGIC,
    FOOTER,
    FOOTER_BODY,
    INDEX,
    LINES,
    RECORD_HEAD,
    RECORD_MAGIC,
    SLICE,
    padded,
)
from .hits import Array, Bytes
from .publish import Claim, publish_file
from .record import Slice, crc32c

_NAME_MAX = 1024


def slices_hash(ids: Array) -> int:
    """Returns the sum of the ids' SplitMix64 hashes modulo 2^64, as the ledger and each footer have it."""
    x = ids.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int(np.sum(x ^ (x >> np.uint64(31)), dtype=np.uint64))


class RunFileWriter:
    """Writes one run file, in a hidden folder until close() syncs and publishes the file.

    Left by an exception, it deletes the unfinished file; that of a process that was killed is deleted by the next one.
    Errors: OSError, FileExistsError if `path` exists or another process writes it.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, run: int, writer: str, farm: str, record: Bytes, sequence: int = 0
    ) -> None:
        self.path = os.fspath(path)
        self._crc32c = need("crc32c", "writing run files").crc32c
        self._at = self._crc = self._records = 0
        self._entries: list[tuple[int, ...]] = []
        self._dead: list[tuple[int, ...]] = []
        names = [name.encode() for name in (writer, farm)]
        if max(map(len, names)) > _NAME_MAX:
            raise FormatError(f"names of writer and farm have at most {_NAME_MAX} bytes")
        try:
            self._claim = Claim(self.path, "name")
        except ConvertError as error:
            raise FileExistsError(str(error)) from None
        self._part = os.path.join(self._claim.scratch, os.path.basename(self.path))
        try:
            self._file = open(self._part, "xb")  # noqa: SIM115 (closed by close() or abandon())
            self._begin(names, run, sequence, record)
        except BaseException:
            self.abandon()
            raise

    def _begin(self, names: list[bytes], run: int, sequence: int, record: Bytes) -> None:
        length = padded(FILE_HEAD.size + len(names[0]) + len(names[1]) + 4)
        head = FILE_HEAD.pack(
            FILE_MAGIC, 1, 0, length, run, sequence, time.time_ns(), 0, len(names[0]), len(names[1]), 0
        )
        head = (head + names[0] + names[1]).ljust(length - 4, b"\0")
        self._tag = crc32c(head)
        self._write(head + self._tag.to_bytes(4, "little"))
        if record:
            self._sealed(BEGIN, b"\0\0\0\0" + bytes(record))

    def __enter__(self) -> RunFileWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        if kind is None:
            self.close()
        elif not self._file.closed:
            self.abandon()

    def add(self, one: Slice) -> None:
        """Appends a slice's record."""
        self._entries.append(
            (one.id, self._at, len(one.record), one.streams, one.time_ns, one.attempt, one.epoch, one.flags, 0)
        )
        self._record(SLICE, one.record)

    def mark_dead(self, copies: Array) -> None:
        """Lists copies (of files.DEAD) that do not count; those of this file are marked in its index too."""
        self._dead.extend(copies.tolist())

    def close(self, end_of_run: Bytes = b"") -> None:
        """Completes, syncs and publishes the file; deletes it after an error."""
        try:
            self._complete(end_of_run)
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            publish_file(self._part, self.path)
        except BaseException:
            self.abandon()
            raise
        self._claim.release()

    def _complete(self, end_of_run: Bytes) -> None:
        behind = self._at
        if self._dead:
            lines = np.array(self._dead, "<u8,<u2,<u2,<u4").tobytes()
            self._sealed(DEAD_LIST, LINES.pack(0, 16, len(self._dead))[4:] + lines)
        if end_of_run:
            self._sealed(END, b"\0\0\0\0" + bytes(end_of_run))
        dead = {copy[:3] for copy in self._dead}
        index = np.array(self._entries, ENTRY)
        index["dead"] = [(line[0], line[5], line[6]) in dead for line in self._entries]
        order = np.lexsort((index["epoch"], index["id"]))
        index_at = self._at
        self._sealed(INDEX, LINES.pack(0, ENTRY.itemsize, len(index))[4:] + index[order].tobytes())
        live = index["id"][index["dead"] == 0]
        footer = FOOTER_BODY.pack(
            0, self._crc, index_at, LINES.size + index.nbytes, len(index), behind, len(live), slices_hash(live),
            self._records + 1, END_MAGIC,
        )  # fmt: skip
        self._sealed(FOOTER, footer[4:])

    def abandon(self) -> None:
        """Deletes the unfinished file."""
        with suppress(OSError, AttributeError):  # it writes what it holds, which is not wanted
            self._file.close()
        self._claim.release()

    def _sealed(self, kind: int, rest: bytes) -> None:
        self._record(kind, crc32c(rest).to_bytes(4, "little") + rest)

    def _record(self, kind: int, body: Bytes) -> None:
        head = RECORD_HEAD.pack(RECORD_MAGIC, self._tag, self._at, len(body), kind, 0, 0)[:-4]
        self._write(head + crc32c(head).to_bytes(4, "little"))
        self._write(body)
        self._write(bytes(padded(len(body)) - len(body)))
        self._records += 1

    def _write(self, data: Bytes) -> None:
        if not len(data):
            return
        self._file.write(data)
        self._crc = self._crc32c(data, self._crc)
        self._at += len(data)
