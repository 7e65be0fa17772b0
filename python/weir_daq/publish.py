"""Files and folders that appear complete or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import socket
from contextlib import suppress
from types import TracebackType

from .errors import ConvertError

_MARK = ".unfinished"
_OWNER = "owner@"
_SET = "set"


class Claim:
    """The right to make `target`, for one process at a time, on every file system, without locks.

    It is a hidden folder that is made exclusively, by a rename, and holds the name of its owner. A hidden folder whose
    owner has ended on this host is taken over; any other one is left alone. release() deletes it.

    `scratch` is the folder, for files that do not have their name yet.
    Errors: ConvertError if `target` exists or another process works on it.
    """

    def __init__(self, target: str | os.PathLike[str], option: str = "--out") -> None:
        self.target = os.path.abspath(os.fspath(target))
        self._option = option
        if os.path.lexists(self.target):
            raise ConvertError(f"{self.target}: exists already: delete it, or give another {option}")
        parent, name = os.path.split(self.target)
        self.scratch = os.path.join(parent, f".{name}{_MARK}")
        self._owner = _identity()
        self._delete_unused(parent, f".{name}{_MARK}-")
        self._make()

    def release(self) -> None:
        _empty(self.scratch, self._owner)

    def _make(self) -> None:
        # The folder has its owner before it has its name, and a folder with an owner is not replaced by a rename.
        made = f"{self.scratch}-{self._owner}"
        os.mkdir(made)
        try:
            with open(os.path.join(made, _OWNER + self._owner), "x", encoding="utf-8"):
                pass
            while True:
                try:
                    os.rename(made, self.scratch)
                    return
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                        raise
                if self._took_over():
                    return
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def _took_over(self) -> bool:
        """Takes over the folder of an owner that has ended: of several processes that try, one renames its file.

        False: it has changed since. Errors: ConvertError if its owner may be alive.
        """
        try:
            names = os.listdir(self.scratch)
        except FileNotFoundError:
            return False
        owner = next((name[len(_OWNER) :] for name in names if name.startswith(_OWNER)), "")
        if not names:
            return False
        if not _has_ended(owner):
            host, _, _, process = (owner.split("@") + 4 * ["?"])[:4]
            raise ConvertError(
                f"{self.target}: process {process} on {host} is writing it: wait for its end, or give another "
                f"{self._option}; if that process has ended, delete {self.scratch}"
            )
        mine = os.path.join(self.scratch, _OWNER + self._owner)
        try:
            os.rename(os.path.join(self.scratch, _OWNER + owner), mine)
        except FileNotFoundError:
            if not os.path.exists(mine):  # some network file systems carry out a rename twice
                return False
        for name in os.listdir(self.scratch):
            if name != _OWNER + self._owner:
                _delete(os.path.join(self.scratch, name))
        return True

    @staticmethod
    def _delete_unused(parent: str, prefix: str) -> None:
        """Deletes folders of processes that ended before they gave them their name."""
        for name in os.listdir(parent):
            if name.startswith(prefix) and _has_ended(name[len(prefix) :]):
                shutil.rmtree(os.path.join(parent, name), ignore_errors=True)


class StagedFolder:
    """A folder that is filled in a hidden place and published by one rename, under a Claim that is kept until then.

    `path` is the folder to write into, `scratch` one for files that are not published. commit() syncs `path` and
    renames it to `target`; without that it is deleted.
    Errors: ConvertError if `target` exists or another process works on it.
    """

    def __init__(self, target: str | os.PathLike[str]) -> None:
        os.makedirs(os.path.dirname(os.path.abspath(os.fspath(target))), exist_ok=True)
        self._claim = Claim(target)
        self.target, self.scratch = self._claim.target, self._claim.scratch
        self.path = os.path.join(self.scratch, _SET)
        os.mkdir(self.path)

    def __enter__(self) -> StagedFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self._claim.release()

    def commit(self) -> None:
        """Publishes the folder. Errors: ConvertError if something took its name meanwhile."""
        for folder, _, files in os.walk(self.path):
            for name in files:
                sync(os.path.join(folder, name))
            sync(folder)
        try:
            os.rename(self.path, self.target)
        except OSError as error:
            raise ConvertError(f"{self.target}: cannot be published: {error.strerror}") from error
        sync(os.path.dirname(self.target))


def publish_file(made: str, target: str) -> None:
    """Gives a finished file its name. Errors: FileExistsError if the name is taken; it is never replaced."""
    try:
        os.link(made, target)
        os.unlink(made)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: the name is taken first
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        try:
            os.rename(made, target)
        except BaseException:
            os.unlink(target)
            raise
    sync(os.path.dirname(os.path.abspath(target)))


def sync(path: str) -> None:
    """Puts a file or folder on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _empty(folder: str, owner: str) -> None:
    """Deletes a folder, and the name of its owner last; does nothing if it has another owner."""
    mine = os.path.join(folder, _OWNER + owner)
    if not os.path.exists(mine):
        return
    for name in os.listdir(folder):
        if name != _OWNER + owner:
            _delete(os.path.join(folder, name))
    if len(os.listdir(folder)) == 1:
        os.unlink(mine)
        with suppress(OSError):  # an empty folder is taken by the next process at once
            os.rmdir(folder)


def _delete(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        os.unlink(path)


# ---- owners


def _place() -> tuple[str, str, str]:
    """Returns this host, its boot and the name space of its process ids: process ids are compared within one only."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip().replace("-", "")[:16]
        ids = str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        boot = ids = ""
    return socket.gethostname().replace("@", "-").replace("/", "-")[:32] or "?", boot, ids


def _started(process: int) -> str:
    """Returns when a process began, in ticks since the boot; "-": it has ended; empty: unknown."""
    try:
        with open(f"/proc/{process}/stat", encoding="latin-1") as file:
            columns = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "-" if columns[0] in "ZX" else columns[19]


def _identity() -> str:
    """Returns a name that no other owner has."""
    own = os.getpid()
    return "@".join((*_place(), str(own), _started(own), secrets.token_hex(4)))


def _has_ended(owner: str) -> bool:
    """True if the process with this identity is known to have ended: false for one of another host."""
    words = owner.split("@")
    if len(words) != 6 or tuple(words[:3]) != _place() or not words[1] or not words[3].isdigit():
        return False
    try:
        os.kill(int(words[3]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    return words[4] != "" and _started(int(words[3])) not in ("", words[4])
