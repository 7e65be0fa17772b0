"""File formats of `weir_daq convert`: a writer and a reader of one part each, and a function that completes a set.

A writer takes batches with positions from 0 and moves them to their place in the part. A reader gives the batches
back, positions from 0 again, so that a conversion compares them with what it read from the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from .._packages import need
from ..batches import Batch
from ..errors import ConvertError


@dataclass(frozen=True)
class Kind:
    """A format's properties, known before its packages are imported."""

    module: str
    suffix: str
    packages: tuple[str, ...]
    # Copies of a batch that a worker holds at once: its columns, the format's own form of them, and both again when the
    # part is compared. Measured as memory over bytes of a batch (test_convert.py), and rounded up.
    copies: int
    whole_part: bool = False  # a part is in memory as a whole while it is written


FORMATS = {
    "hdf5": Kind("hdf5", ".h5", ("h5py",), copies=8),
    "parquet": Kind("parquet", ".parquet", ("pyarrow", "pyarrow.parquet"), copies=24),
    "root": Kind("root", ".root", ("uproot", "awkward"), copies=12),
    "npz": Kind("npz", ".npz", (), copies=8, whole_part=True),
}


@dataclass(frozen=True)
class Options:
    """How parts are written."""

    compression: str = ""  # empty: the format's own choice
    hits: bool = False  # parquet: hits as columns instead of bytes


@dataclass(frozen=True)
class RunInfo:
    """Description of the run in every part."""

    run: int
    farm: str
    record: str  # the farm file as it ran, YAML
    summary: str  # JSON; empty: none
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Extent:
    """Rows of each column that one batch has."""

    slices: int
    fragments: int
    data: int
    events: int
    event_data: int
    extra: int

    @staticmethod
    def of(batch: Batch) -> Extent:
        return Extent(*(len(column) for _, column in batch.columns()))


class PartWriter(Protocol):
    def write(self, batch: Batch) -> None: ...
    def close(self) -> None: ...


class Format(Protocol):
    def open_part(self, path: str, info: RunInfo, options: Options) -> PartWriter: ...
    def read_part(self, path: str, extents: list[Extent], options: Options) -> Iterator[Batch]: ...
    def finish_set(self, folder: str, parts: list[str], extents: list[list[Extent]], info: RunInfo) -> None: ...


def load(name: str) -> Any:
    """Returns the module of a format. Errors: ConvertError, MissingPackageError."""
    if name not in FORMATS:
        raise ConvertError(f"no format '{name}': one of {', '.join(FORMATS)}")
    for package in FORMATS[name].packages:
        need(package, f"converting to {name}")
    return import_module("." + FORMATS[name].module, __name__)
