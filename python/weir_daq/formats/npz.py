"""NumPy: the columns of batches.py as arrays of one .npz file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..batches import POSITIONS, Batch
from . import Extent, Options, RunInfo


class _Writer:
    def __init__(self, path: str, info: RunInfo, options: Options) -> None:
        self._path, self._info, self._options = path, info, options
        self._batches: list[Batch] = []
        self._ends = dict.fromkeys(POSITIONS, 0)

    def write(self, batch: Batch) -> None:
        self._batches.append(batch.shifted(self._ends))
        for name, size in batch.sizes().items():
            self._ends[name] += size

    def close(self) -> None:
        columns = {
            name: np.concatenate([getattr(batch, name) for batch in self._batches])
            for name, _ in self._batches[0].columns()
        }
        info = self._info
        texts = {"farm": info.farm, "record": info.record, "summary": info.summary, **info.attributes}
        arrays = {name: np.array(text) for name, text in texts.items()}
        save = np.savez if self._options.compression == "none" else np.savez_compressed
        with open(self._path, "xb") as file:
            save(file, **columns, **arrays, run=np.array(info.run))  # type: ignore[arg-type,unused-ignore]


def open_part(path: str, info: RunInfo, options: Options) -> _Writer:
    return _Writer(path, info, options)


def read_part(path: str, extents: list[Extent], options: Options) -> Iterator[Batch]:
    with np.load(path, allow_pickle=False) as file:
        names = ("slices", "fragments", "data", "events", "event_data", "extra")
        columns = {name: file[name] for name in names}
    begin = dict.fromkeys(names, 0)
    for extent in extents:
        part = {name: columns[name][begin[name] : begin[name] + getattr(extent, name)] for name in names}
        rows = part["slices"].copy()
        for position, name in zip(POSITIONS, names[1:]):
            rows[position] -= np.uint64(begin[name])
        begin = {name: begin[name] + len(column) for name, column in part.items()}
        part["slices"] = rows
        yield Batch(**part)


def finish_set(folder: str, parts: list[str], extents: list[list[Extent]], info: RunInfo) -> None:
    """Parts are complete by themselves."""
