"""Slices as columns, for the converters to write, read back and compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

import numpy as np

from .errors import ConvertError
from .hits import HIT, WAVEFORM, Array, decode_hits
from .pieces import decode_pieces, is_pieces
from .record import Slice

# A row per slice. `data`, `first_fragment`, `first_event`, `event_data` and `extra` are positions in the columns of
# the same file.
SLICES = np.dtype(
    [
        ("id", "<u8"),
        ("time_ns", "<i8"),
        ("duration_ns", "<i8"),
        ("streams", "<u8"),
        ("run", "<u4"),
        ("trigger_type", "<u4"),
        ("prescale", "<u4"),
        ("attempt", "<u2"),
        ("epoch", "<u2"),
        ("flags", "<u2"),
        ("dcm", "<u2"),
        ("decision", "u1"),
        ("fragments", "<u4"),
        ("first_fragment", "<u8"),
        ("data", "<u8"),
        ("data_bytes", "<u8"),
        ("events", "<u4"),
        ("first_event", "<u8"),
        ("event_data", "<u8"),
        ("extra", "<u8"),
        ("trigger_payload_bytes", "<u4"),
        ("filter_result_bytes", "<u4"),
    ]
)
POSITIONS = ("first_fragment", "data", "first_event", "event_data", "extra")
# A row per fragment; `offset` counts from the slice's `data`.
FRAGMENTS = np.dtype(
    [
        ("slice", "<u8"),
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
# A row per output event; `offset` counts from the slice's `event_data`.
EVENTS = np.dtype([("slice", "<u8"), ("id", "<u8"), ("offset", "<u4"), ("length", "<u4")])
_FROM_SLICE = (
    "id", "time_ns", "duration_ns", "streams", "run", "trigger_type", "prescale", "attempt", "epoch", "flags", "dcm",
)  # fmt: skip


@dataclass
class Batch:
    """Some slices as columns. `extra` has each slice's trigger payload, then its filter result."""

    slices: Array  # of SLICES
    fragments: Array  # of FRAGMENTS
    data: Array
    events: Array  # of EVENTS
    event_data: Array
    extra: Array

    def columns(self) -> Iterator[tuple[str, Array]]:
        for one in fields(self):
            yield one.name, getattr(self, one.name)

    def sizes(self) -> dict[str, int]:
        """Returns how far the positions of the next batch in the same file move."""
        lengths = (self.fragments, self.data, self.events, self.event_data, self.extra)
        return dict(zip(POSITIONS, map(len, lengths)))

    def shifted(self, by: dict[str, int]) -> Batch:
        """Returns the same slices with positions that begin at `by`."""
        slices = self.slices.copy()
        for name in POSITIONS:
            slices[name] += np.uint64(by.get(name, 0))
        return Batch(slices, self.fragments, self.data, self.events, self.event_data, self.extra)

    def difference(self, other: Batch) -> str:
        """Returns the name of the first column that differs; empty if none does."""
        for (name, mine), (_, its) in zip(self.columns(), other.columns()):
            if mine.dtype != its.dtype or mine.tobytes() != its.tobytes():
                return name
        return ""


def batch_of(slices: Iterable[Slice]) -> Batch:
    """Returns the slices as columns, positions from 0."""
    taken = list(slices)
    rows = np.zeros(len(taken), SLICES)
    for name in _FROM_SLICE:
        rows[name] = [getattr(one, name) for one in taken]
    rows["decision"] = [one._decision for one in taken]
    rows["fragments"] = [len(one.table) for one in taken]
    rows["data_bytes"] = [len(one.payload) for one in taken]
    rows["events"] = [len(one.event_table) for one in taken]
    payloads = [one.trigger_payload for one in taken]
    results = [one.filter_result for one in taken]
    rows["trigger_payload_bytes"] = [len(one) for one in payloads]
    rows["filter_result_bytes"] = [len(one) for one in results]
    events = _events(taken, rows)
    event_bytes = np.zeros(len(taken), np.uint64)
    np.add.at(event_bytes, np.repeat(np.arange(len(taken)), rows["events"]), events["length"])
    fill_positions(rows, event_bytes)
    return Batch(
        rows,
        _fragments(taken, rows),
        _joined([one.payload for one in taken]),
        events,
        _joined([np.frombuffer(data, np.uint8) for one in taken for _, data in one.events]),
        _joined([np.frombuffer(part, np.uint8) for pair in zip(payloads, results) for part in pair]),
    )


def with_hits(batch: Batch) -> Batch:
    """Returns the batch with the hits of each window of time (`build.by: time`) instead of its pieces (decode_hits()).

    Errors: ConvertError for hits with waveforms, FormatError for damaged windows.
    """
    lines, rows = batch.fragments, batch.slices
    begins = np.repeat(rows["data"], rows["fragments"]) + lines["offset"]
    data = memoryview(batch.data.tobytes())
    parts = [data[begin : begin + length] for begin, length in zip(begins.tolist(), lines["stored"].tolist())]
    windows = [n for n, part in enumerate(parts) if is_pieces(part)]
    if not windows:
        return batch
    for n in windows:
        payload = np.frombuffer(decode_pieces(parts[n]).payload, np.uint8)
        if len(payload) % HIT.itemsize or (payload.view(HIT)["channel"] & WAVEFORM).any():
            raise ConvertError("the pieces of a window are not hits of 6 bytes each: convert without --hits")
        parts[n] = memoryview(decode_hits(parts[n]).tobytes())
    lines, rows = lines.copy(), rows.copy()
    lines["stored"] = [len(part) for part in parts]
    lines["offset"] = starts_within(lines["stored"], rows["fragments"])
    rows["data_bytes"] = 0
    np.add.at(rows["data_bytes"], np.repeat(np.arange(len(rows)), rows["fragments"]), lines["stored"].astype(np.uint64))
    rows["data"] = starts(rows["data_bytes"])
    joined = np.frombuffer(b"".join(parts), np.uint8)
    return Batch(rows, lines, joined, batch.events, batch.event_data, batch.extra)


def fill_positions(rows: Array, event_bytes: Array) -> None:
    """Fills in the positions of SLICES rows from their lengths."""
    extra = rows["trigger_payload_bytes"].astype(np.uint64) + rows["filter_result_bytes"]
    lengths = (rows["fragments"], rows["data_bytes"], rows["events"], event_bytes, extra)
    for name, length in zip(POSITIONS, lengths):
        rows[name] = starts(length)


def starts(lengths: Array) -> Array:
    """Returns the position of each piece of a column from the pieces' lengths."""
    ends = np.cumsum(lengths, dtype=np.uint64)
    return ends - lengths.astype(np.uint64)


def starts_within(lengths: Array, counts: Array) -> Array:
    """Like starts(), but from 0 again for each group of `counts` pieces."""
    begin = starts(lengths)
    first = starts(counts).astype(np.int64)
    base = np.where(counts > 0, begin[np.minimum(first, max(len(begin) - 1, 0))] if len(begin) else 0, 0)
    within: Array = begin - np.repeat(base, counts)
    return within


def _joined(parts: list[Array]) -> Array:
    return np.concatenate(parts) if parts else np.empty(0, np.uint8)


def _fragments(taken: list[Slice], rows: Array) -> Array:
    tables = np.concatenate([one.table for one in taken]) if taken else np.empty(0, FRAGMENTS)
    found = np.empty(len(tables), FRAGMENTS)
    for name in ("source", "status", "reason", "flags", "stored", "total", "crc32c", "stored_crc32c"):
        found[name] = tables[name]
    found["slice"] = np.repeat(rows["id"], rows["fragments"])
    found["offset"] = starts_within(tables["stored"], rows["fragments"])
    return found


def _events(taken: list[Slice], rows: Array) -> Array:
    tables = [one.event_table for one in taken]
    found = np.zeros(int(rows["events"].sum()), EVENTS)
    if len(found):
        joined = np.concatenate(tables)
        found["id"], found["length"] = joined["id"], joined["length"]
        found["slice"] = np.repeat(rows["id"], rows["events"])
        found["offset"] = starts_within(joined["length"], rows["events"])
    return found
