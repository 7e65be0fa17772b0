"""Folders that appear complete or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from types import TracebackType

from .errors import ConvertError

_MARK = ".unfinished-"
_LOCK = ".lock"


class StagedFolder:
    """A folder that is filled under another name and published by one rename.

    `path` is the hidden folder to write into. commit() syncs what it holds and renames it to `target`; without that
    it is deleted. One that a killed process left is deleted by the next StagedFolder of the same target.
    Errors: ConvertError if `target` exists.
    """

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self.target = os.path.abspath(os.fspath(target))
        if os.path.lexists(self.target):
            raise ConvertError(f"{self.target}: exists already: delete it, or give another --out")
        parent, name = os.path.split(self.target)
        os.makedirs(parent, exist_ok=True)
        prefix = f".{name}{_MARK}"
        _delete_abandoned(parent, prefix)
        self.path = tempfile.mkdtemp(prefix=prefix, dir=parent)
        os.chmod(self.path, 0o777 & ~_umask())
        self._lock = _locked(os.path.join(self.path, _LOCK))

    def __enter__(self) -> StagedFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        if os.path.isdir(self.path):
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)

    def commit(self) -> None:
        """Publishes the folder. Errors: ConvertError if something took its name meanwhile."""
        os.unlink(os.path.join(self.path, _LOCK))
        for folder, _, files in os.walk(self.path):
            for name in files:
                sync(os.path.join(folder, name))
            sync(folder)
        try:
            os.rename(self.path, self.target)
        except OSError as error:
            raise ConvertError(f"{self.target}: cannot be published: {error.strerror}") from error
        sync(os.path.dirname(self.target))


def sync(path: str) -> None:
    """Puts a file or folder on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _locked(path: str) -> int:
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def _delete_abandoned(parent: str, prefix: str) -> None:
    for name in os.listdir(parent):
        if not name.startswith(prefix):
            continue
        path = os.path.join(parent, name)
        try:
            lock = _locked(os.path.join(path, _LOCK))
        except OSError:  # in use, or another user's
            continue
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)
