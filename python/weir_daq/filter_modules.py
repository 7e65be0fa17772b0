"""Modules beside a filter in Python: imported from the run's copy, and never in place of Python's own."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import linecache
import os
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from .parameters import ParameterError

_EXTENSION = tuple(importlib.machinery.EXTENSION_SUFFIXES)
_UNUSED = {"antigravity", "test", "this"}  # modules of Python's that no program imports


def _standard_modules() -> set[str]:
    names: set[str] = set(getattr(sys, "stdlib_module_names", ()))  # since Python 3.10
    if not names:
        library = os.path.dirname(os.__file__)
        names = {entry.partition(".")[0] for entry in os.listdir(library)} | set(sys.builtin_module_names)
    return names - _UNUSED


def _module_name(entry: str) -> str:
    """Returns the name under which a file of a folder is imported; empty if it is not a module."""
    for suffix in (*_EXTENSION, ".py"):
        if entry.endswith(suffix):
            return entry[: -len(suffix)]
    return ""


def refuse_hidden_modules(folder: str) -> None:
    """Raises ParameterError if a module of this folder has the name of one of Python's standard library."""
    standard = _standard_modules()
    for entry in sorted(os.listdir(folder)):
        path = os.path.join(folder, entry)
        name = entry if os.path.isfile(os.path.join(path, "__init__.py")) else _module_name(entry)
        if name in standard:
            raise ParameterError(f"{path} hides the module '{name}' of Python's standard library: rename it")


def show_in_tracebacks(path: str, source: bytes) -> None:
    """Tracebacks show these lines, also when the file has been edited."""
    lines = source.decode("utf-8", "replace").splitlines(keepends=True)
    linecache.cache[path] = (len(source), None, lines, path)


class _Source(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, content: bytes) -> None:
        super().__init__(name, path)
        self.content = content

    def get_data(self, path: str) -> bytes:
        return self.content if path == self.path else super().get_data(path)

    def path_stats(self, path: str) -> Any:
        raise OSError("no compiled file stands for a copy")


class _Extension(importlib.machinery.ExtensionFileLoader):
    """A compiled module, loaded from a file in memory."""

    def __init__(self, name: str, path: str, content: bytes) -> None:
        memory = os.memfd_create(os.path.basename(path))
        with os.fdopen(os.dup(memory), "wb") as file:
            file.write(content)
        super().__init__(name, f"/proc/self/fd/{memory}")
        self.original = path

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self.original
        super().exec_module(module)


_finders: list[CopiedModules] = []


class CopiedModules:
    """Finds the modules beside a filter in the files that belong to the run (sys.meta_path)."""

    def __init__(self, folder: str, files: Sequence[tuple[str, bytes]]) -> None:
        _finders.append(self)
        self.folder = folder
        self.modules: dict[str, tuple[str, bytes]] = {}
        self.packages: dict[str, str] = {}  # their folders
        for path, content in files:
            *folders, entry = os.path.relpath(path, folder).split(os.sep)
            for depth in range(1, len(folders) + 1):
                self.packages[".".join(folders[:depth])] = os.path.join(folder, *folders[:depth])
            name = _module_name(entry)
            self.modules[".".join([*folders, name] if name != "__init__" else folders)] = (path, content)
            if entry.endswith(".py"):
                show_in_tracebacks(path, content)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        folders = [self.packages[name]] if name in self.packages else None
        if name in self.modules:
            file, content = self.modules[name]
            kind = _Source if file.endswith(".py") else _Extension
            loader = kind(name, file, content)
            return importlib.util.spec_from_file_location(
                name, loader.path, loader=loader, submodule_search_locations=folders
            )
        if folders:  # a package without __init__.py
            spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = folders
            return spec
        first = name.partition(".")[0]
        of_another = any(name in one.modules or name in one.packages for one in _finders)  # filter of this process
        if not of_another and (first in self.packages or self._is_beside(first)):
            raise ModuleNotFoundError(
                f"module '{name}' beside the filter is not among the files that the run began with: name it in an "
                f"import statement of the filter, or in a comment such as '# import {name}'",
                name=name,
            )
        return None

    def _is_beside(self, name: str) -> bool:
        path = os.path.join(self.folder, name)
        return os.path.isfile(os.path.join(path, "__init__.py")) or any(
            os.path.isfile(path + suffix) for suffix in (".py", *_EXTENSION)
        )


def clear(modules: Mapping[str, ModuleType], finder: CopiedModules) -> None:
    """Destroys the objects of a copy's modules."""
    for name in finder.modules:
        if name in modules:
            modules[name].__dict__.clear()
