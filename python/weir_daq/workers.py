"""Worker processes of a conversion, each with a connection of its own, which ends with the process."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any

from .errors import ConvertError, WeirError

# A function of a module, and its arguments. It is called with a function for its progress in bytes, then these.
Task = tuple[Callable[..., Any], tuple[Any, ...]]

_SMALLER = "give a smaller --memory or --jobs"
_STEP_S = 10.0
_SILENT_STEPS_MAX = 60  # a pause of this process counts as one step
_END_S = 5.0


class _Worker:
    def __init__(self) -> None:
        self.connection, theirs = Pipe()
        # Started afresh: a fork would share the threads and locks of the formats' libraries.
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; "
            f"serve({theirs.fileno()}, {os.getpid()})"
        )
        try:
            # In a session of its own: an interrupt from the terminal is the parent's, which ends the workers.
            self.process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        finally:
            theirs.close()

    def send(self, task: Task) -> None:
        try:
            self.connection.send(task)
        except OSError:
            raise self._death() from None

    def receive(self) -> tuple[str, Any]:
        try:
            message: tuple[str, Any] = self.connection.recv()
        except (EOFError, OSError):
            raise self._death() from None
        return message

    def kill(self) -> None:
        self.process.kill()
        self.connection.close()

    def _death(self) -> ConvertError:
        try:
            status = self.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return ConvertError("a worker has closed its connection: nothing was published")
        how = f"signal {-status}" if status < 0 else f"status {status}"
        return ConvertError(f"a worker died ({how}), perhaps for lack of memory: {_SMALLER}")


class WorkerPool:
    """Processes that carry out tasks. At the end of `with` it ends them at once.

    Errors: of a task; ConvertError if a worker dies, or if no worker makes progress for ten minutes.
    """

    def __init__(self, count: int) -> None:
        self._workers: list[_Worker] = []
        try:
            for _ in range(count):
                self._workers.append(_Worker())
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self._end()

    def run(self, tasks: Sequence[Task], advance: Callable[[int], object]) -> list[Any]:
        """Returns the results in the order of the tasks. advance: called with each bit of progress, in bytes."""
        results: list[Any] = [None] * len(tasks)
        left = iter(enumerate(tasks))
        busy: dict[Connection, tuple[_Worker, int]] = {}

        def give(worker: _Worker) -> None:
            for number, task in left:
                worker.send(task)
                busy[worker.connection] = (worker, number)
                return

        for worker in self._workers:
            give(worker)
        silent = 0
        while busy:
            ready = wait(list(busy), _STEP_S)
            silent = 0 if ready else silent + 1
            if silent == _SILENT_STEPS_MAX:
                numbers = ", ".join(str(number) for _, number in busy.values())
                raise ConvertError(f"no worker made progress for {_STEP_S * silent:.0f} s, with part {numbers}")
            for connection in ready:
                worker, number = busy[connection]  # type: ignore[index]
                kind, value = worker.receive()
                if kind == "progress":
                    advance(value)
                elif kind == "failed":
                    raise value
                else:
                    results[number] = value
                    del busy[worker.connection]
                    give(worker)
        return results

    def _end(self) -> None:
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            with suppress(subprocess.TimeoutExpired):  # in a system call of a file system that does not answer
                worker.process.wait(_END_S)


# ---- in the worker


def limit_allocators() -> None:
    """Has Arrow use the C library's allocator: its own keep freed memory, beyond a conversion's bound.

    Requires: called before pyarrow is imported.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def serve(descriptor: int, parent: int) -> None:
    """Carries out tasks until the parent closes the connection or a task fails."""
    limit_allocators()
    # A part has one writer, and file systems without locks are common.
    os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
    # The workers of a killed conversion end with it, also where it was killed before this line.
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    connection = Connection(descriptor)
    while True:
        try:
            function, arguments = connection.recv()
            connection.send(("done", function(_progress(connection), *arguments)))
        except EOFError:
            os._exit(0)
        except BaseException as error:
            connection.send(("failed", _portable(error)))
            # Without the end of the formats' libraries: HDF5 crashes when it closes a file on a full disk.
            os._exit(1)


def _progress(connection: Connection) -> Callable[[int], None]:
    return lambda nbytes: connection.send(("progress", nbytes))


def _portable(error: BaseException) -> BaseException:
    """Returns the error in a form that reaches the parent."""
    if isinstance(error, MemoryError):
        return ConvertError(f"a worker has too little memory: {_SMALLER}")
    if not isinstance(error, (WeirError, OSError, ValueError)):
        traceback.print_exception(type(error), error, error.__traceback__)
        sys.stderr.flush()
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return ConvertError(f"{type(error).__name__}: {error}")
    return error
