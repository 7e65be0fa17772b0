"""Weir in Python: run files, samples of a run that is on, conversion, run control (docs/python.md)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._tables import DECISION, REASON, STATUS
from .errors import (
    ControlError,
    ConvertError,
    FormatError,
    MissingPackageError,
    NoRunError,
    NoSliceError,
    TapError,
    WeirError,
)
from .files import RunFile, read_run_file
from .histograms import Histogram, Histograms, read_histograms
from .hits import HIT, decode_hits
from .pieces import PIECE, Pieces, decode_pieces
from .record import TABLE, Fragment, Slice, crc32c, parse_slice
from .run import Run, RunWarning, Slices

if TYPE_CHECKING:
    from .farm import Farm
    from .sources import Source
    from .tap import Sampled, Tap

__version__ = "0.5.0"
__all__ = [
    "DECISION",
    "HIT",
    "PIECE",
    "REASON",
    "STATUS",
    "TABLE",
    "ControlError",
    "ConvertError",
    "Farm",
    "FormatError",
    "Fragment",
    "Histogram",
    "Histograms",
    "MissingPackageError",
    "NoRunError",
    "NoSliceError",
    "Pieces",
    "Run",
    "RunFile",
    "RunWarning",
    "Sampled",
    "Slice",
    "Slices",
    "Source",
    "Tap",
    "TapError",
    "WeirError",
    "crc32c",
    "decode_hits",
    "decode_pieces",
    "parse_slice",
    "read_histograms",
    "read_run_file",
]


def __getattr__(name: str) -> Any:
    # Parts that need a network package are imported when they are used.
    if name in ("Tap", "Sampled"):
        from . import tap

        return getattr(tap, name)
    if name == "Farm":
        from . import farm

        return farm.Farm
    if name == "Source":
        from . import sources

        return sources.Source
    if name == "convert":
        return importlib.import_module(".convert", __name__)
    raise AttributeError(f"module 'weir_daq' has no attribute '{name}'")
