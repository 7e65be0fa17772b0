"""Slices and setups without a farm, for unit tests of filters in Python.

    from weir_daq.filter_testing import make_setup, make_slice

    decision = Filter(make_setup(minimum=3)).process(make_slice({1: b"abc", 2: None}))
    assert decision.accepted
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Callable

import numpy as np

from .filters import SLICE_BYTES, Axis, Bytes, Memory, Services, Setup, Slice, Values

_OK, _MISSING, _DEADLINE, _INCOMPLETE = 0, 1, 1, 1
_START = 64  # address 0 stands for "no bytes"


class TestServices(Services):
    """Keeps a filter's counters, its log lines and the numbers of its histograms' entries."""

    def __init__(self, groups: Mapping[str, list[int]]) -> None:
        self.counters: dict[str, int] = {}
        self.entries: dict[str, int] = {}  # of histograms
        self.lines: list[str] = []
        self._groups = list(groups.items())

    def log(self, level: int, text: str) -> None:
        self.lines.append(text)

    def stream(self, name: str) -> int:
        return {"default": 1, "debug": 1 << 63}.get(name, 0)

    def counter(self, name: str) -> Callable[[int], None]:
        self.counters.setdefault(name, 0)

        def add(amount: int) -> None:
            self.counters[name] += amount

        return add

    def book(self, kind: int, name: str, x: Axis, y: Axis) -> Callable[[Values, Values, Values, Slice | None], None]:
        self.entries.setdefault(name, 0)

        def fill(x: Values, y: Values, weight: Values, slice_: Slice | None) -> None:
            self.entries[name] += np.broadcast_arrays(x, y, weight)[0].size

        return fill

    def group(self, name: str) -> tuple[int, list[int]] | None:
        return next(((i, sources) for i, (one, sources) in enumerate(self._groups) if one == name), None)


def make_setup(groups: Mapping[str, list[int]] | None = None, **parameters: Any) -> Setup:
    """Returns the argument of Filter.__init__. Its `services` keep counters and log lines."""
    values = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in parameters.items()}
    return Setup(values, TestServices(groups or {}))


def make_slice(
    fragments: Mapping[int, Bytes | None],
    *,
    id: int = 0,
    run: int = 1,
    step: int = 0,
    attempt: int = 0,
    time_ns: int = 0,
    duration_ns: int = 0,
    trigger_type: int = 0,
    remembered: Any = None,
) -> Slice:
    """Returns a slice with these fragments by source; None: missing."""
    data = bytearray(_START)
    rows = b""
    for source in sorted(fragments):
        content = fragments[source]
        if content is None:
            rows += struct.pack("<IBBHQIIII", source, _MISSING, _DEADLINE, 0, 0, 0, 0, 0, 0)
            continue
        bytes_of = bytes(content)
        rows += struct.pack("<IBBHQIIII", source, _OK, 0, 0, len(data), len(bytes_of), len(bytes_of), 0, 0)
        data += bytes_of
    memory: Memory[Any] = Memory()
    state = len(data)
    data += struct.pack("<QQ", 0 if remembered is None else memory.add(remembered), 0)
    table = len(data)
    data += rows
    address = len(data)
    incomplete = _INCOMPLETE if None in fragments.values() else 0
    data += struct.pack("<IIQIIqqIIQIIIIQQQII", SLICE_BYTES, run, id, attempt, step, time_ns, duration_ns, trigger_type,
                        0, 0, incomplete, len(fragments), 32, 0, table, state, 0, 0, 0)  # fmt: skip
    return Slice(memoryview(bytes(data)), address, memory)
