"""HDF5: the columns of batches.py as chunked, compressed datasets; `run.h5` shows the parts as one file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import h5py
import numpy as np

from ..batches import EVENTS, FRAGMENTS, POSITIONS, SLICES, Batch
from ..errors import ConvertError
from . import Extent, Options, RunInfo

MASTER = "run.h5"
_COLUMNS = {
    "slices": SLICES,
    "fragments": FRAGMENTS,
    "data": np.dtype("u1"),
    "events": EVENTS,
    "event_data": np.dtype("u1"),
    "extra": np.dtype("u1"),
}
_CHUNK_BYTES = 1 << 20
_VERSION = 1


def _set_attributes(file: Any, info: RunInfo) -> None:
    file.attrs["format"] = "weir-slices"
    file.attrs["version"] = _VERSION
    file.attrs["run"] = info.run
    file.attrs["farm"] = info.farm
    file.attrs["record"] = info.record
    file.attrs["summary"] = info.summary
    for name, value in info.attributes.items():
        file.attrs[name] = value


class _Writer:
    """After an error the file stays open: HDF5 crashes when it closes one that it cannot write."""

    def __init__(self, path: str, info: RunInfo, options: Options) -> None:
        self._path = path
        with _errors_of(path):
            self._create(path, info, options)

    def _create(self, path: str, info: RunInfo, options: Options) -> None:
        # Attributes beyond 64 KiB, such as a large farm file, need a newer layout than HDF5's oldest.
        self._file = h5py.File(path, "x", libver=("v108", "latest"))
        _set_attributes(self._file, info)
        compression = options.compression or "gzip"
        settings: dict[str, Any] = {"compression": None if compression == "none" else compression}
        if compression == "gzip":
            settings["compression_opts"] = 1
        self._datasets: dict[str, Any] = {}  # open until the end: closing one writes, and h5py ignores errors of that
        for name, dtype in _COLUMNS.items():
            rows = max(1, _CHUNK_BYTES // dtype.itemsize)
            self._datasets[name] = self._file.create_dataset(
                name, (0,), dtype, maxshape=(None,), chunks=(rows,), shuffle=compression != "none", **settings
            )

    def write(self, batch: Batch) -> None:
        positions = dict(zip(POSITIONS, (len(self._datasets[name]) for name in list(_COLUMNS)[1:])))
        with _errors_of(self._path):
            for name, column in batch.shifted(positions).columns():
                dataset = self._datasets[name]
                begin = len(dataset)
                dataset.resize((begin + len(column),))
                dataset[begin:] = column

    def close(self) -> None:
        with _errors_of(self._path):
            _flush(self._file)
            self._datasets.clear()
            self._file.close()


def _flush(file: Any) -> None:
    """Puts the file on disk, so that nothing is left to fail when it is closed."""
    file.flush()
    os.fsync(file.id.get_vfd_handle())


@contextmanager
def _errors_of(path: str) -> Iterator[None]:
    """Raises HDF5's errors of writing as an OSError of the file: their own text has addresses in memory."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        found = re.search(r"errno = (\d+)", str(error))
        number = int(found[1]) if found else error.errno if isinstance(error, OSError) else None
        if number is None:
            raise ConvertError(f"{path}: HDF5 cannot write it: {error}") from error
        raise OSError(number, os.strerror(number), path) from error


def open_part(path: str, info: RunInfo, options: Options) -> _Writer:
    return _Writer(path, info, options)


def read_part(path: str, extents: list[Extent], options: Options) -> Iterator[Batch]:
    with h5py.File(path, "r") as file:
        begin = dict.fromkeys(_COLUMNS, 0)
        for extent in extents:
            columns = {}
            for name in _COLUMNS:
                end = begin[name] + getattr(extent, name)
                columns[name] = file[name][begin[name] : end]
            base = {position: begin[name] for position, name in zip(POSITIONS, list(_COLUMNS)[1:])}
            begin = {name: begin[name] + len(column) for name, column in columns.items()}
            for position, value in base.items():
                columns["slices"][position] -= np.uint64(value)
            yield Batch(**columns)


def finish_set(folder: str, parts: list[str], extents: list[list[Extent]], info: RunInfo) -> None:
    """Writes run.h5: its own table of slices, with positions over all parts, and views of the other columns."""
    lengths = {name: [sum(getattr(one, name) for one in part) for part in extents] for name in _COLUMNS}
    path = os.path.join(folder, MASTER)
    with _errors_of(path):
        file = h5py.File(path, "x", libver=("v110", "latest"))
        _set_attributes(file, info)
        total = sum(lengths["slices"])
        compressed = {"chunks": True, "compression": "gzip", "compression_opts": 1} if total else {}
        slices = file.create_dataset("slices", (total,), SLICES, **compressed)
        begin = dict.fromkeys(_COLUMNS, 0)
        for number, part in enumerate(parts):
            with h5py.File(os.path.join(folder, part), "r") as source:
                rows = source["slices"][:]
            for position, name in zip(POSITIONS, list(_COLUMNS)[1:]):
                rows[position] += np.uint64(begin[name])
            slices[begin["slices"] : begin["slices"] + len(rows)] = rows
            begin = {name: begin[name] + lengths[name][number] for name in _COLUMNS}
        for name in list(_COLUMNS)[1:]:
            _add_view(file, name, parts, lengths[name])
        _flush(file)
        file.close()


def _add_view(file: Any, name: str, parts: list[str], lengths: list[int]) -> None:
    layout = h5py.VirtualLayout((sum(lengths),), _COLUMNS[name])
    begin = 0
    for part, length in zip(parts, lengths):
        if length:
            layout[begin : begin + length] = h5py.VirtualSource(part, name, (length,))
        begin += length
    file.create_virtual_dataset(name, layout)
