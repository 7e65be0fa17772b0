"""Imports of optional packages."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from .errors import MissingPackageError

# module: (distribution on PyPI, package of Debian or "")
_PACKAGES = {
    "awkward": ("awkward", ""),
    "crc32c": ("crc32c", "python3-crc32c"),
    "google.protobuf": ("protobuf", "python3-protobuf"),
    "hist": ("hist", ""),
    "h5py": ("h5py", "python3-h5py"),
    "matplotlib": ("matplotlib", "python3-matplotlib"),
    "pyarrow": ("pyarrow", ""),
    "pyarrow.parquet": ("pyarrow", ""),
    "tqdm": ("tqdm", "python3-tqdm"),
    "uproot": ("uproot", ""),
    "yaml": ("pyyaml", "python3-yaml"),
    "zmq": ("pyzmq", "python3-zmq"),
}


def need(module: str, purpose: str) -> ModuleType:
    """Returns the imported module. Raises MissingPackageError with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        pypi, debian = _PACKAGES[module]
        text = f"{purpose} needs the package {pypi}: {sys.executable} -m pip install {pypi}"
        if debian:
            text += f", or apt install {debian}"
        if not isinstance(error, ModuleNotFoundError):  # it is installed, and cannot be used
            text += f" ({error})"
        raise MissingPackageError(text) from error
