"""The executables of a farm that a wheel brings, in the folder `farm` beside this file.

`weir`, `weir-readout` and the others on PATH are scripts that call `start`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .errors import WeirError


def prefix() -> Path:
    """Returns the folder with bin, lib, include and share: CMAKE_PREFIX_PATH for filters and sources in C++.

    Raises WeirError where the package was installed without executables (from python/ in a clone).
    """
    folder = Path(__file__).resolve().parent / "farm"
    if not (folder / "bin").is_dir():
        raise WeirError(f"{folder.parent} has no executables: install the wheel of `./dev package`, or `./dev build`")
    return folder


def start() -> None:
    """Becomes the executable that is called as this script is; filters in Python run in this interpreter."""
    try:
        program = prefix() / "bin" / Path(sys.argv[0]).name
    except WeirError as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
    os.environ.setdefault("WEIR_PYTHON", sys.executable)
    os.execv(program, [str(program), *sys.argv[1:]])
