"""Runs the sources of a readout in Python: main(["run", LIBRARY] or ["check", LIBRARY, FILE]).

Started by Weir, not by hand. LIBRARY is weir-source-host.so, which has the host's side of the lane
(docs/decisions/0056).
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import functools
import gc
import io
import logging
import os
import resource
import signal
import sys
import threading
import time
import types
from collections.abc import Sequence
from typing import Any, Callable, NoReturn

import numpy as np

from ._tracebacks import report, sentence
from .filter_modules import CopiedModules, refuse_hidden_modules, show_in_tracebacks
from .parameters import ParameterError
from .sources import RunInfo, Source, SourceServices, SourceSetup, as_bytes

# libs/readout/source_host/include/weir/source_host/lane.hpp
_SETUP_DESCRIPTOR, _NOTE_DESCRIPTOR = 4, 8
_SLICE, _BEGIN, _END, _FINISH = range(4)
_FRAGMENT, _FAILED, _LOG, _READY, _REFUSED, _BEGUN, _ENDED, _COUNT, _FAULT = range(1, 10)
_PASSED = 11
_REQUEST = np.dtype([("kind", "<u4"), ("type", "<u4"), ("slice", "<u8"), ("time", "<i8"), ("duration", "<i8")])
_OK, _MISSING = 0, 1
_SENT, _TOO_LONG = 0, 1
_BATCH = 256  # requests taken at once, if their fragments are not more than
_BATCH_FRAGMENTS = 1024
_PATIENCE_MS = 500
_CHECK_MARK = "\x1e"  # what the source prints itself comes before it
_DIRECT_BYTES = 8192  # longer fragments are sent one by one
_GATHER_NS = 1_000_000  # shorter ones are sent together for so long
_GATHER_BYTES = 262144
_JOIN_S = 1.0


class _Failed(Exception):
    """The source is to blame; the text has its traceback."""


class Host(SourceServices):
    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        u32, u64, pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
        self._send = library.weir_source_host_send
        self._send.argtypes = (u32, u32, u64, u32, pointer, u64, pointer)
        self._send_many = library.weir_source_host_send_many
        self._send_many.argtypes = (u32, pointer, pointer, u32, pointer, u64, pointer)
        self._take = library.weir_source_host_take
        self._take.argtypes = (pointer, u32, ctypes.c_int32)
        library.weir_source_host_open.restype = u64
        self.fragment_max = int(library.weir_source_host_open())
        self.requests = np.zeros(_BATCH, _REQUEST)
        self._at = self.requests.ctypes.data
        self.batch = _BATCH
        self._timed = self._delay_us = 0

    def take(self) -> Any:
        return self.requests[: self._take(self._at, self.batch, _PATIENCE_MS)]

    def tell(self, kind: int, text: str = "", source: int = 0, number: int = 0, status: int = 0) -> None:
        data = text.encode("utf-8", "replace")[:60000]
        self._check(self._send(kind, source, number, status, data, len(data), None))

    def _check(self, result: int) -> None:
        if result > _TOO_LONG:
            raise RuntimeError("a forked child of a source delivers nothing: deliver in the process of the source")

    def send(self, source: int, slice_id: int, status: int, data: Any, stamp: bytes | None = None) -> bool:
        data = as_bytes(data)
        length = data.nbytes if isinstance(data, memoryview) else len(data)
        place = data if type(data) is bytes else np.frombuffer(data, np.uint8).ctypes.data if length else None
        result = self._send(_FRAGMENT, source, slice_id, status, place, length, stamp)
        if result == _TOO_LONG:
            self._too_long(source, slice_id, length)
        self._check(result)
        return True

    def _too_long(self, source: int, slice_id: int, length: int) -> None:
        text = f"too long: {length} bytes, and source.host.lane_bytes has room for {self.fragment_max}"
        self.tell(_FAILED, text, source, slice_id)

    def missing(self, source: int, slice_id: int) -> None:
        self._send(_FRAGMENT, source, slice_id, _MISSING, None, 0, None)

    def send_many(self, source: int, slice_ids: Sequence[int], data: Any, stamps: Any = None) -> bool:
        if len(data) != len(slice_ids):
            raise ValueError(f"{len(data)} fragments for {len(slice_ids)} slices")
        if isinstance(data, np.ndarray):
            lengths = np.full(len(data), data[0].nbytes if len(data) else 0, np.uint32)
            self._send_joined(source, slice_ids, lengths, np.ascontiguousarray(data), stamps)
            return True
        pieces, ids, size = [], [], 0
        places: list[int] = []  # of their stamps

        def send_gathered() -> None:
            self.send_pieces(source, ids, pieces, None if stamps is None else stamps[places])

        for place, (slice_id, one) in enumerate(zip(slice_ids, data)):
            if one is None:
                self.missing(source, slice_id)
                continue
            one = as_bytes(one)
            if len(one) > _DIRECT_BYTES:
                self.send(source, slice_id, _OK, one, None if stamps is None else stamps[place].tobytes())
                continue
            pieces.append(one)
            ids.append(slice_id)
            places.append(place)
            size += len(one)
            if size > _GATHER_BYTES:
                send_gathered()
                pieces, ids, places, size = [], [], [], 0
        send_gathered()
        return True

    def send_pieces(self, source: int, slice_ids: Sequence[int], pieces: list[Any], stamps: Any = None) -> None:
        if pieces:
            lengths = np.fromiter(map(len, pieces), np.uint32, len(pieces))
            self._send_joined(source, slice_ids, lengths, np.frombuffer(b"".join(pieces), np.uint8), stamps)

    def _send_joined(self, source: int, slice_ids: Sequence[int], lengths: Any, data: Any, stamps: Any) -> None:
        ids = np.array(slice_ids, np.uint64)
        place = None if stamps is None else stamps.ctypes.data
        result = self._send_many(
            source, ids.ctypes.data, lengths.ctypes.data, len(ids), data.ctypes.data, data.nbytes, place
        )
        if result == _TOO_LONG:
            for slice_id, length in zip(slice_ids, lengths.tolist()):
                self._too_long(source, slice_id, length)
        self._check(result)

    def log(self, level: int, text: str) -> None:
        for line in text.splitlines() or [""]:
            self.tell(_LOG, line, status=level)

    def count(self, name: str, amount: int) -> None:
        self.tell(_COUNT, name, number=amount)

    def passed(self, source: int, time_ns: int, gap: bool) -> None:
        self.tell(_PASSED, source=source, number=time_ns & 0xFFFF_FFFF_FFFF_FFFF, status=int(gap))

    def note_time(self, time_ns: int) -> None:
        self._timed += 1
        self._delay_us += max(0, time.time_ns() - time_ns) // 1000

    def report_delay(self) -> None:
        timed, self._timed = self._timed, 0
        delay_us, self._delay_us = self._delay_us, 0
        if timed:
            self.count("timed", timed)
            self.count("delay_us", delay_us)


class _LogHandler(logging.Handler):
    """Sends records of the module logging to the farm's log."""

    def __init__(self, services: SourceServices) -> None:
        super().__init__()
        self.services = services

    def emit(self, record: logging.LogRecord) -> None:
        level = min(max(record.levelno // 10 - 1, 0), 3)  # DEBUG 10 to ERROR 40
        self.services.log(level, self.format(record))


# ---- the module


class Module:
    """A file with a source, compiled. `copied`: modules beside it are in `files`; otherwise they are on disk."""

    def __init__(self, files: list[tuple[str, bytes]], copied: bool = True) -> None:
        self.path, content = files[0]
        stem = os.path.splitext(os.path.basename(self.path))[0]
        folder = os.path.dirname(self.path)
        refuse_hidden_modules(folder)
        if copied:
            sys.meta_path.insert(0, CopiedModules(folder, files[1:]))
        else:
            sys.path.append(folder)
        name = stem if stem not in sys.modules else stem + "_source"
        module = types.ModuleType(name)
        module.__file__ = self.path
        sys.modules[name] = module
        show_in_tracebacks(self.path, content)
        exec(compile(content, self.path, "exec"), module.__dict__)
        self.kind = self._find(module)
        about = (self.kind.__doc__ or module.__doc__ or "a source in Python").strip().splitlines()
        self.description = f"{stem} {getattr(module, '__version__', '0')}, {about[0]}"

    def _find(self, module: types.ModuleType) -> type[Source]:
        kinds = [
            one
            for one in vars(module).values()
            if isinstance(one, type) and issubclass(one, Source) and one.__module__ == module.__name__
        ]
        kinds = [one for one in kinds if one.__name__ == "Source"] or kinds
        if len(kinds) != 1:
            names = ", ".join(one.__name__ for one in kinds) or "none"
            raise ParameterError(f"has to have one class derived from weir_daq.Source, and has {names}")
        kind = kinds[0]
        ways = [way for way in ("fragment", "fragments", "run") if callable(getattr(kind, way, None))]
        if not ways:
            known = "fragment(self, slice_id), fragments(self, slice_ids) nor run(self)"
            raise ParameterError(f"its class {kind.__name__} has neither {known}")
        if "run" in ways and len(ways) > 1:
            raise ParameterError(f"its class {kind.__name__} has both {ways[0]}() and run(): it is asked, or delivers")
        self.asks = "run" not in ways
        return kind

    def make(self, setup: SourceSetup, services: SourceServices) -> Source:
        made = self.kind.__new__(self.kind)
        made.source = setup.source
        made._services = services
        made.__init__(setup)  # type: ignore[misc]
        setup.refuse_unknown()
        return made


# ---- the process


class Process:
    """The sources of one readout, and the loop that asks them."""

    def __init__(self, host: Host, setup: dict[str, list[bytes]]) -> None:
        self.host = host
        self.pid = os.getpid()
        self.memory = int(setup["memory_bytes"][0])
        files = [(os.fsdecode(path), content) for path, content in zip(setup["file"], setup["content"])]
        self.path = os.path.abspath(files[0][0])
        self.module = Module([(os.path.abspath(path), content) for path, content in files])
        values = {
            name.decode(): value.decode()
            for name, value in zip(setup.get("parameter", []), setup.get("value", []))
        }
        logging.getLogger().addHandler(_LogHandler(host))
        readout, index = setup["readout"][0].decode(), int(setup["index"][0])
        self.sources = [
            self.module.make(SourceSetup(values, int(source), readout, index), host) for source in setup["source"]
        ]
        host.batch = min(_BATCH, max(1, _BATCH_FRAGMENTS // max(1, len(self.sources))))
        self.threads: list[threading.Thread] = []
        self.announced = self.module.kind.announced is not Source.announced
        self.batches = callable(getattr(self.module.kind, "fragments", None))
        host.tell(_READY, self.module.description, status=int(self.module.asks))

    def report(self, error: BaseException) -> str:
        return report(error, self.path, "source")

    def begin_run(self, run: RunInfo) -> None:
        for one in self.sources:
            one.begin_run(run)
            one.running = True
        if not self.module.asks:
            self.threads = [threading.Thread(target=self._run, args=(one,), daemon=True) for one in self.sources]
        self.host.tell(_BEGUN)
        for thread in self.threads:
            thread.start()

    def _run(self, source: Any) -> None:
        try:
            source.run()
        except BaseException as error:
            self.end_for(error)
        if source.running:
            self.host.log(2, f"source {source.source}: run() returned during the run; it is not called again")

    def end_for(self, error: BaseException) -> NoReturn:
        """Ends the process: the readout has the reason from the note, and starts another."""
        if os.getpid() != self.pid:  # a forked child
            _end(0)
        if isinstance(error, MemoryError):
            _limit_memory(0)  # so that the report has room
            self.host.count("host_memory", 1)
        text = self.report(error)
        os.write(_NOTE_DESCRIPTOR, text.encode("ascii", "replace"))
        self.host.log(3, text)
        if not isinstance(error, SystemExit):
            self.host.tell(_REFUSED, _memory_word(error, self.memory) + sentence(error, self.path, "source"))
        code = error.code if isinstance(error, SystemExit) else 1
        _end(code if isinstance(code, int) else 1 if code else 0)

    def end_run(self) -> None:
        for one in self.sources:
            one.running = False
        until = time.monotonic() + _JOIN_S
        for thread in self.threads:
            thread.join(max(0.0, until - time.monotonic()))
        self.threads = []
        self.host.report_delay()
        problems = []
        for one in self.sources:
            try:
                one.end_run()
            except Exception as error:
                problems.append(f"source {one.source}: {sentence(error, self.path, 'source')}")
        self.host.tell(_ENDED, "; ".join(problems))

    def loop(self) -> int:
        while True:
            requests = self.host.take()
            kinds = requests["kind"]
            begin = 0
            for at in np.flatnonzero(kinds):  # others than slices
                self._answer(requests[begin:at])
                begin = int(at) + 1
                if kinds[at] == _BEGIN:
                    self._begin(requests[at])
                elif kinds[at] == _END:
                    self.end_run()
                else:
                    return 0
            self._answer(requests[begin:])

    def _begin(self, request: Any) -> None:
        try:
            self.begin_run(RunInfo(int(request["type"]), int(request["slice"])))
        except Exception as error:
            self.host.log(3, self.report(error))
            self.host.tell(_REFUSED, sentence(error, self.path, "source"))
            _end(1)

    def _answer(self, requests: Any) -> None:
        if not len(requests):
            return
        ids = requests["slice"].tolist()
        if self.announced:
            times = requests["time"].tolist()
            for source in self.sources:
                for slice_id, time_ns in zip(ids, times):
                    self._guarded(source, [slice_id], functools.partial(source.announced, slice_id, time_ns))
        if not self.module.asks:
            return
        for source in self.sources:
            if self.batches:
                self._ask_many(source, ids)
            else:
                self._ask(source, ids)

    def _ask_many(self, source: Any, ids: list[int]) -> None:
        def ask() -> None:
            self.host.send_many(source.source, ids, source.fragments(ids))

        self._guarded(source, ids, ask)

    def _guarded(self, source: Source, ids: list[int], call: Callable[[], Any]) -> None:
        try:
            call()
        except MemoryError:
            raise
        except Exception as error:
            text = self.report(error)
            for slice_id in ids:
                self.host.tell(_FAILED, text, source.source, slice_id)

    def _ask(self, source: Any, ids: list[int]) -> None:
        """Asks for one fragment after the other. Short ones are sent together."""
        host, number, fragment = self.host, source.source, source.fragment
        pieces: list[Any] = []
        made: list[int] = []
        size, since = 0, time.monotonic_ns()
        for slice_id in ids:
            try:
                data = fragment(slice_id)
                if data is not None and type(data) is not bytes:
                    data = as_bytes(data)
            except MemoryError:
                raise
            except Exception as error:
                host.tell(_FAILED, self.report(error), number, slice_id)
                continue
            if data is None:
                host.missing(number, slice_id)
                continue
            length = len(data)
            if length > _DIRECT_BYTES:
                host.send(number, slice_id, _OK, data)
                continue
            pieces.append(data)
            made.append(slice_id)
            size += length
            if size > _GATHER_BYTES or time.monotonic_ns() - since > _GATHER_NS:
                host.send_pieces(number, made, pieces)
                pieces, made, size, since = [], [], 0, time.monotonic_ns()
        host.send_pieces(number, made, pieces)


def _end(status: int) -> NoReturn:
    """Ends without waiting for a thread of the source."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status & 0xFF)


def _limit_memory(limit: int) -> None:
    """Limits the private memory of this process to so many bytes; 0: as far as the system allows."""
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    unlimited = most == resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_DATA, ((limit if unlimited else min(limit, most)) if limit else most, most))


def _memory_word(error: BaseException, limit: int) -> str:
    return f"out of memory, source.host.memory_bytes is {limit}: " if limit and isinstance(error, MemoryError) else ""


def _read_setup() -> dict[str, list[bytes]]:
    with os.fdopen(_SETUP_DESCRIPTOR, "rb") as file:
        file.seek(0)
        content = file.read()
    setup: dict[str, list[bytes]] = {}
    at = 0
    texts = []
    while at < len(content):
        size = int.from_bytes(content[at : at + 8], "little")
        texts.append(content[at + 8 : at + 8 + size])
        at += 8 + size
    for name, value in zip(texts[::2], texts[1::2]):
        setup.setdefault(name.decode(), []).append(value)
    return setup


def _run(library: str) -> int:
    host = Host(ctypes.CDLL(library))
    if host.fragment_max == 0:
        print("weir_daq.source_host is started by weir-readout, not by hand", file=sys.stderr)
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a host that is killed has printed its lines
    faulthandler.enable(_NOTE_DESCRIPTOR)
    faulthandler.register(signal.SIGQUIT, _NOTE_DESCRIPTOR, all_threads=True, chain=True)
    setup = _read_setup()
    path = os.path.abspath(os.fsdecode(setup["file"][0]))
    memory = int(setup["memory_bytes"][0])
    try:
        _limit_memory(memory)
        process = Process(host, setup)
    except BaseException as error:
        _limit_memory(0)
        if not isinstance(error, ParameterError):
            host.log(3, report(error, path, "source"))
        host.tell(_REFUSED, _memory_word(error, memory) + sentence(error, path, "source"))
        return 1
    gc.freeze()
    try:
        return process.loop()
    except BaseException as error:
        process.end_for(error)


def _check(path: str) -> int:
    try:
        path = os.path.abspath(path)
        with open(path, "rb") as file:
            content = file.read()
        module = Module([(path, content)], copied=False)
        text, status = f"  {module.description}\n  from {path}\n", 0
    except BaseException as error:
        text, status = sentence(error, path, "source"), 1
    sys.stdout.flush()
    sys.stdout.write(_CHECK_MARK + text)
    return status


def main(words: list[str]) -> NoReturn:
    verb, library, *arguments = words
    _end(_run(library) if verb == "run" else _check(arguments[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
