"""Errors of a filter or source, as its author reads them: without the frames of weir_daq."""

from __future__ import annotations

import os
import sys
import traceback

from .parameters import ParameterError


def _own_frames(error: BaseException) -> list[traceback.FrameSummary]:
    here = os.path.dirname(os.path.abspath(__file__))
    frames = traceback.extract_tb(error.__traceback__)
    first = next((i for i, frame in enumerate(frames) if os.path.dirname(frame.filename) != here), len(frames))
    return list(frames)[first:]


def sentence(error: BaseException, file: str, noun: str) -> str:
    """Returns one line with the last position in the plugin's own file. `noun`: "filter" or "source"."""
    if isinstance(error, ParameterError):
        return str(error)
    text = traceback.format_exception_only(type(error), error)[-1].strip()
    if isinstance(error, SyntaxError):
        return f"{text} ({os.path.basename(error.filename or file)}:{error.lineno})"
    if isinstance(error, ModuleNotFoundError) and error.name and text.endswith(f"'{error.name}'"):
        version = sys.version.split()[0]
        text += f" in {sys.executable}, Python {version}: install it there, or name another in {noun}.python"
    lines = [frame.lineno for frame in _own_frames(error) if os.path.abspath(frame.filename) == file]
    return f"{text} ({os.path.basename(file)}:{lines[-1]})" if lines else text


def report(error: BaseException, file: str, noun: str) -> str:
    """Returns the sentence, and the traceback from the plugin's first frame on."""
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(_own_frames(error))]
    lines += traceback.format_exception_only(type(error), error)
    return sentence(error, file, noun) + "\n" + "".join(lines)
