"""Reads Weir's slices: samples of a run that is on (weir.tap), and run files (weir.record)."""

from .record import Fragment, FormatError, Slice, parse_slice, read_run_file
from .tap import Tap, TapError

__version__ = "0.1.0"
__all__ = ["Fragment", "FormatError", "Slice", "Tap", "TapError", "parse_slice", "read_run_file"]
