"""ROOT: a TTree `slices` with an entry per slice, by uproot; a fragment's columns are arrays of its entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import awkward as ak
import numpy as np
import uproot

from ..batches import Batch
from ..hits import Array
from . import Extent, Options, RunInfo
from .nested import FRAGMENT_COLUMNS, SLICE_COLUMNS, batch_from, join_extra, split_extra

TREE = "slices"
_BYTES = {  # branch: its bytes' length per slice, in SLICES
    "data": "data_bytes",
    "trigger_payload": "trigger_payload_bytes",
    "filter_result": "filter_result_bytes",
}


def _jagged(values: Array, counts: Array) -> Any:
    return ak.unflatten(np.ascontiguousarray(values), counts.astype(np.int64))


def _entries(batch: Batch) -> dict[str, Any]:
    rows = batch.slices
    payloads, results = split_extra(batch)
    branches: dict[str, Any] = {name: np.ascontiguousarray(rows[name]) for name in SLICE_COLUMNS}
    for name in FRAGMENT_COLUMNS:
        branches["fragment_" + name] = _jagged(batch.fragments[name], rows["fragments"])
    branches["event_id"] = _jagged(batch.events["id"], rows["events"])
    branches["event_length"] = _jagged(batch.events["length"], rows["events"])
    branches["event_data"] = _jagged(batch.event_data, _event_bytes(batch))
    for name, content in zip(_BYTES, (batch.data, payloads, results)):
        branches[name] = _jagged(content, rows[_BYTES[name]])
    return branches


def _event_bytes(batch: Batch) -> Array:
    return np.diff(np.append(batch.slices["event_data"], np.uint64(len(batch.event_data))))


class _Writer:
    def __init__(self, path: str, info: RunInfo, options: Options) -> None:
        compression = options.compression or "zlib"
        kinds = {"zlib": uproot.ZLIB(1), "lz4": uproot.LZ4(1), "zstd": uproot.ZSTD(1), "none": None}
        if compression not in kinds:
            raise ValueError(f"ROOT files have no compression '{compression}': one of {', '.join(kinds)}")
        self._file: Any = uproot.create(path, compression=kinds[compression])
        for name, text in info.attributes.items():
            self._file[name] = text
        self._file["run"] = str(info.run)
        self._file["farm"] = info.farm or " "
        self._file["record"] = info.record or " "
        self._file["summary"] = info.summary or " "
        self._tree: Any = None

    def write(self, batch: Batch) -> None:
        branches = _entries(batch)
        if self._tree is None:
            # Without a counter of its own each jagged branch would get one, for columns that share theirs.
            kinds = {
                name: value.dtype if isinstance(value, np.ndarray) else f"var * {_kind(value)}"
                for name, value in branches.items()
            }
            self._tree = self._file.mktree(TREE, kinds)
        self._tree.extend(branches)

    def close(self) -> None:
        self._file.close()


def _kind(value: Any) -> str:
    return str(ak.to_numpy(ak.flatten(value)).dtype)


def open_part(path: str, info: RunInfo, options: Options) -> _Writer:
    return _Writer(path, info, options)


def _flat(value: Any) -> tuple[Array, Array]:
    """Returns counts and joined values of a jagged branch."""
    return ak.to_numpy(ak.num(value)), ak.to_numpy(ak.flatten(value))


def _batch(entries: Any) -> Batch:
    slices = {name: ak.to_numpy(entries[name]) for name in SLICE_COLUMNS}
    fragments = {}
    for name in FRAGMENT_COLUMNS:
        slices["fragments"], fragments[name] = _flat(entries["fragment_" + name])
    events = {}
    slices["events"], events["id"] = _flat(entries["event_id"])
    _, events["length"] = _flat(entries["event_length"])
    _, event_data = _flat(entries["event_data"])
    content = {}
    for name, length in _BYTES.items():
        slices[length], content[name] = _flat(entries[name])
    extra = join_extra(
        content["trigger_payload"],
        slices["trigger_payload_bytes"],
        content["filter_result"],
        slices["filter_result_bytes"],
    )
    return batch_from(slices, fragments, content["data"], events, event_data, extra)


def read_part(path: str, extents: list[Extent], options: Options) -> Iterator[Batch]:
    with uproot.open(path, array_cache=None, object_cache=None) as file:
        tree = file[TREE]
        begin = 0
        for extent in extents:
            yield _batch(tree.arrays(entry_start=begin, entry_stop=begin + extent.slices))
            begin += extent.slices


def finish_set(folder: str, parts: list[str], extents: list[list[Extent]], info: RunInfo) -> None:
    """Parts are one chain: uproot.iterate("FOLDER/*.root:slices"), or a TChain."""
