"""Batches from nested columns, as read from Parquet and ROOT."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..batches import EVENTS, FRAGMENTS, SLICES, Batch, fill_positions, starts_within
from ..hits import Array

SLICE_COLUMNS = (
    "id", "time_ns", "duration_ns", "streams", "run", "trigger_type", "prescale", "attempt", "epoch", "flags", "dcm",
    "decision",
)  # fmt: skip
FRAGMENT_COLUMNS = ("source", "status", "reason", "flags", "stored", "total", "crc32c", "stored_crc32c")


def batch_from(
    slices: dict[str, Array], fragments: dict[str, Array], data: Array, events: dict[str, Array], event_data: Array,
    extra: Array,
) -> Batch:  # fmt: skip
    """Returns the batch of these columns.

    slices: SLICE_COLUMNS, and "fragments", "events", "data_bytes", "trigger_payload_bytes", "filter_result_bytes".
    """
    rows: Any = np.zeros(len(slices["id"]), SLICES)
    for name, column in slices.items():
        rows[name] = column
    table = np.empty(len(fragments["source"]), FRAGMENTS)
    for name in FRAGMENT_COLUMNS:
        table[name] = fragments[name]
    table["slice"] = np.repeat(rows["id"], rows["fragments"])
    table["offset"] = starts_within(table["stored"], rows["fragments"])
    lines = np.empty(len(events["id"]), EVENTS)
    lines["id"], lines["length"] = events["id"], events["length"]
    lines["slice"] = np.repeat(rows["id"], rows["events"])
    lines["offset"] = starts_within(events["length"], rows["events"])
    event_bytes = np.zeros(len(rows), np.uint64)
    np.add.at(event_bytes, np.repeat(np.arange(len(rows)), rows["events"]), lines["length"].astype(np.uint64))
    fill_positions(rows, event_bytes)
    return Batch(rows, table, data, lines, event_data, extra)


def split_extra(batch: Batch) -> tuple[Array, Array]:
    """Returns all trigger payloads, and all filter results, from `extra`."""
    first = batch.slices["trigger_payload_bytes"].astype(np.int64)
    second = batch.slices["filter_result_bytes"].astype(np.int64)
    lengths = np.ravel(np.column_stack((first, second)))
    is_first = np.repeat(np.tile([True, False], len(first)), lengths)
    return batch.extra[is_first], batch.extra[~is_first]


def join_extra(payloads: Array, payload_bytes: Array, results: Array, result_bytes: Array) -> Array:
    """The inverse of split_extra()."""
    lengths = np.ravel(np.column_stack((payload_bytes, result_bytes))).astype(np.int64)
    is_first = np.repeat(np.tile([True, False], len(payload_bytes)), lengths)
    joined = np.empty(len(payloads) + len(results), np.uint8)
    joined[is_first] = payloads
    joined[~is_first] = results
    return joined
