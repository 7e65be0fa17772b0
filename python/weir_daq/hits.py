"""Hits of many slices as one Awkward array."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ._packages import need
from .record import HIT, Array, Slice, decode_hits

_WAVEFORM = 0x80


def _flat(one: Slice) -> tuple[Array, Array]:
    """Returns all hits of a slice, and how many each source has."""
    stored = one.table["stored"]
    payload = one.payload
    if not (stored % HIT.itemsize).any():
        hits = payload.view(HIT)
        if not (hits["channel"] & _WAVEFORM).any():
            return hits, stored // HIT.itemsize
    parts = [decode_hits(fragment.data) for fragment in one.fragments]
    counts = np.array([len(part) for part in parts], np.uint32)
    return (np.concatenate(parts) if parts else np.empty(0, HIT)), counts


def hits_of(slices: Iterable[Slice]) -> Any:
    """Returns {"source": u4, "hits": var * {"channel", "time_ns", "tot_ns"}}, var per slice.

    Errors: FormatError for fragments that are not hits (libs/source, hit.hpp), MissingPackageError.
    """
    ak = need("awkward", "hits as arrays")
    hits, counts, sources, rows = [], [], [], []
    for one in slices:
        flat, per_source = _flat(one)
        hits.append(flat)
        counts.append(per_source)
        sources.append(one.table["source"])
        rows.append(len(one.table))
    flat = np.concatenate(hits) if hits else np.empty(0, HIT)
    per_source = np.concatenate(counts) if counts else np.empty(0, np.uint32)
    source = np.concatenate(sources) if sources else np.empty(0, np.uint32)
    record = ak.zip({name: np.ascontiguousarray(flat[name]) for name in HIT.names or ()})
    by_source = ak.zip({"source": source, "hits": ak.unflatten(record, per_source)}, depth_limit=1)
    return ak.unflatten(by_source, np.array(rows, np.int64))
