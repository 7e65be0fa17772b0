"""Parquet: a row per slice, with a list of its fragments and one of its output events; a row group per batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..batches import Batch
from ..errors import ConvertError
from ..hits import HIT, WAVEFORM, Array
from . import Extent, Options, RunInfo
from .nested import FRAGMENT_COLUMNS, SLICE_COLUMNS, batch_from, join_extra, split_extra


def _offsets(lengths: Array) -> Any:
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    if ends[-1] > np.iinfo(np.int32).max:
        raise ConvertError("a batch of more than 2 GiB does not fit into Parquet's lists: give a smaller --memory")
    return pa.array(ends.astype(np.int32))


def _binary(lengths: Array, data: Array) -> Any:
    buffers = [None, _offsets(lengths).buffers()[1], pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.binary(), len(lengths), buffers)


def _column(values: Array) -> Any:
    return pa.array(np.ascontiguousarray(values))


def _hits(stored: Array, data: Array) -> Any:
    if (stored % HIT.itemsize).any():
        raise ConvertError("fragments are not hits of 6 bytes each: convert without --hits")
    hits = data.view(HIT)
    if (hits["channel"] & WAVEFORM).any():
        raise ConvertError("hits with waveforms do not fit into columns: convert without --hits")
    struct = pa.StructArray.from_arrays([_column(hits[name]) for name in HIT.names or ()], list(HIT.names or ()))
    return pa.ListArray.from_arrays(_offsets(stored // HIT.itemsize), struct)


def _table(batch: Batch, options: Options, metadata: dict[str, str]) -> Any:
    rows, fragments, events = batch.slices, batch.fragments, batch.events
    content = "hits" if options.hits else "data"
    columns = {name: _column(fragments[name]) for name in FRAGMENT_COLUMNS if name != "stored"}
    columns[content] = (_hits if options.hits else _binary)(fragments["stored"], batch.data)
    table = pa.StructArray.from_arrays(list(columns.values()), list(columns))
    lines = pa.StructArray.from_arrays([_column(events["id"]), _binary(events["length"], batch.event_data)],
                                       ["id", "data"])  # fmt: skip
    payloads, results = split_extra(batch)
    whole = {name: _column(rows[name]) for name in SLICE_COLUMNS}
    whole["trigger_payload"] = _binary(rows["trigger_payload_bytes"], payloads)
    whole["filter_result"] = _binary(rows["filter_result_bytes"], results)
    whole["fragments"] = pa.ListArray.from_arrays(_offsets(rows["fragments"]), table)
    whole["events"] = pa.ListArray.from_arrays(_offsets(rows["events"]), lines)
    return pa.table(whole).replace_schema_metadata(metadata)


class _Writer:
    def __init__(self, path: str, info: RunInfo, options: Options) -> None:
        self._path, self._options = path, options
        self._metadata = {
            "weir.run": str(info.run),
            "weir.farm": info.farm,
            "weir.record": info.record,
            "weir.summary": info.summary,
            **{"weir." + name: text for name, text in info.attributes.items()},
        }
        self._writer: Any = None

    def write(self, batch: Batch) -> None:
        table = _table(batch, self._options, self._metadata)
        if self._writer is None:
            compression = self._options.compression or "zstd"
            self._writer = pq.ParquetWriter(self._path, table.schema, compression=compression, use_dictionary=False)
        self._writer.write_table(table, row_group_size=max(1, len(batch.slices)))

    def close(self) -> None:
        self._writer.close()


def open_part(path: str, info: RunInfo, options: Options) -> _Writer:
    return _Writer(path, info, options)


def _numbers(array: Any) -> Array:
    found: Array = array.to_numpy(zero_copy_only=False)
    return found


def _lengths(array: Any) -> Array:
    return np.diff(array.offsets.to_numpy())


def _bytes_of(array: Any) -> tuple[Array, Array]:
    """Returns lengths and joined bytes of a binary array."""
    at = array.offset
    offsets = np.frombuffer(array.buffers()[1], np.int32)[at : at + len(array) + 1]
    data = array.buffers()[2]
    joined = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
    return np.diff(offsets), joined


def _batch(table: Any, hits: bool) -> Batch:
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    columns = {name: one.chunk(0) if isinstance(one, pa.ChunkedArray) else one for name, one in columns.items()}
    slices = {name: _numbers(columns[name]) for name in SLICE_COLUMNS}
    slices["fragments"], slices["events"] = _lengths(columns["fragments"]), _lengths(columns["events"])
    table_of = columns["fragments"].flatten()
    fragments = {name: _numbers(table_of.field(name)) for name in FRAGMENT_COLUMNS if name != "stored"}
    if hits:
        lists = table_of.field("hits")
        flat = lists.flatten()
        data = np.empty(len(flat), HIT)
        for name in HIT.names or ():
            data[name] = _numbers(flat.field(name))
        fragments["stored"], content = _lengths(lists) * HIT.itemsize, data.view(np.uint8)
    else:
        fragments["stored"], content = _bytes_of(table_of.field("data"))
    per_slice = np.zeros(len(slices["id"]), np.uint64)
    np.add.at(per_slice, np.repeat(np.arange(len(per_slice)), slices["fragments"]),
              fragments["stored"].astype(np.uint64))  # fmt: skip
    slices["data_bytes"] = per_slice
    lines = columns["events"].flatten()
    event_bytes, event_data = _bytes_of(lines.field("data"))
    slices["trigger_payload_bytes"], payloads = _bytes_of(columns["trigger_payload"])
    slices["filter_result_bytes"], results = _bytes_of(columns["filter_result"])
    extra = join_extra(payloads, slices["trigger_payload_bytes"], results, slices["filter_result_bytes"])
    events = {"id": _numbers(lines.field("id")), "length": event_bytes}
    return batch_from(slices, fragments, content, events, event_data, extra)


def read_part(path: str, extents: list[Extent], options: Options) -> Iterator[Batch]:
    with pq.ParquetFile(path) as file:
        for group in range(len(extents)):
            yield _batch(file.read_row_group(group, use_threads=False), options.hits)


def finish_set(folder: str, parts: list[str], extents: list[list[Extent]], info: RunInfo) -> None:
    """Parts are one data set for pyarrow.dataset, polars and Dask as they are."""
