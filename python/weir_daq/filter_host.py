"""Runs a filter in Python: main(["worker" | "check" | "try", LIBRARY, SETTINGS...]).

Started by Weir, not by hand. LIBRARY is weir-filter-host.so, which has the loop over slices; here are the functions
that it calls for each of them (docs/decisions/0043).
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import gc
import io
import itertools
import logging
import os
import signal
import struct
import sys
import threading
import traceback
import types
from typing import Any, Callable, NoReturn

import numpy as np

from ._tracebacks import report, sentence
from .filter_modules import CopiedModules, clear, refuse_hidden_modules, show_in_tracebacks
from .filters import (
    SLICE_BYTES,
    Axis,
    Decision,
    Memory,
    ParameterError,
    RunInfo,
    Services,
    Setup,
    Slice,
    Values,
    are_referred_to,
    source_number,
)
from .parameters import whole

_CRASH_DESCRIPTOR = 8  # libs/filtering/filter_host/include/weir/filter_host/worker_descriptors.hpp
_ABI = 1
_NO_METRIC = _NO_GROUP = 0xFFFFFFFF
_ALL_SOURCES = 0xFFFFFFFF
_TEXT_MAX = 1 << 16
_TRY = "weir filter try: "
_CHECK_MARK = "\x1e"  # what the filter prints itself comes before it

_U8, _U32, _U64, _I32, _I64, _DOUBLE = (
    ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32, ctypes.c_int64, ctypes.c_double,
)  # fmt: skip
_POINTER, _TEXT = ctypes.c_void_p, ctypes.c_char_p
_function = ctypes.CFUNCTYPE


class _Host(ctypes.Structure):
    """weir_filter_host"""

    _fields_ = (
        ("struct_size", _U32),
        ("abi_version", _U32),
        ("context", _POINTER),
        ("log", _function(None, _POINTER, _I32, _TEXT)),
        ("stream", _function(_U64, _POINTER, _TEXT)),
        ("counter", _function(_U32, _POINTER, _TEXT)),
        ("count", _function(None, _POINTER, _U32, _U64)),
        ("histogram", _function(_U32, _POINTER, _TEXT)),
        ("record", _function(None, _POINTER, _U32, _DOUBLE)),
        ("random", _function(_U64, _POINTER)),
        ("add_event", _function(_I32, _POINTER, _U64, _TEXT, _U64)),
        ("set_result", _function(_I32, _POINTER, _TEXT, _U64)),
        ("keep_sources", _function(_I32, _POINTER, _POINTER, _U32)),
        ("need_sources", _function(_I32, _POINTER, _POINTER, _U32)),
        ("forward", _function(_I32, _POINTER, _TEXT, _TEXT, _U64)),
        ("group", _function(_U32, _POINTER, _TEXT)),
        ("group_sources", _function(_U32, _POINTER, _U32, _POINTER, _U32)),
        ("need_group", _function(_I32, _POINTER, _U32)),
        ("prefetch_sources", _function(_I32, _POINTER, _POINTER, _U32)),
        ("prefetch_group", _function(_I32, _POINTER, _U32)),
        ("book_histogram", _function(_U32, _POINTER, _POINTER)),
        ("fill", _function(None, _POINTER, _U32, _DOUBLE, _DOUBLE, _DOUBLE)),
        ("alert", _function(None, _POINTER, _I64, _I64, _TEXT)),
    )


class _Plugin(ctypes.Structure):
    """weir_filter_plugin"""

    _fields_ = (
        ("struct_size", _U32),
        ("abi_version", _U32),
        ("name", _TEXT),
        ("version", _TEXT),
        ("description", _TEXT),
        ("create", _function(_POINTER, _POINTER, _POINTER, _POINTER, _U32)),
        ("begin_run", _function(_I32, _POINTER, _POINTER, _POINTER, _U32)),
        ("process", _function(_I32, _POINTER, _POINTER, _POINTER, _POINTER, _U32)),
        ("end_run", _function(None, _POINTER)),
        ("destroy", _function(None, _POINTER)),
        ("first_sources", _function(_U32, _POINTER, _POINTER, _U32)),
    )


_LOAD = _function(_POINTER, _POINTER, _U64, _POINTER, _U32)
_HAS_BATCHES = _function(_I32, _POINTER)
_BEGIN_BATCH = _function(None, _POINTER, _POINTER, _U64)
_DESTROY_STATE = _function(None, _POINTER)

_DECISION = struct.Struct("<BBBxQIxxxxQ")  # from weir_filter_decision.verdict on
_STATE = struct.Struct("<QQ")
_PARAMETERS = struct.Struct("<IIIIQ")
_RUN = struct.Struct("<IIqIIQ")
_FILE = struct.Struct("<QQQ")  # weir_python_file
_BOOKING = struct.Struct("<IIQIxxxxddIxxxxdd")  # weir_filter_booking

# All memory of the process: a view of any bytes is a slice of it.
_memory = memoryview((ctypes.c_ubyte * (1 << 47)).from_address(0)).cast("B")
_readable = _memory.toreadonly()

_library: ctypes.CDLL
_in_worker = False
_process = os.getpid()
_end_process = os._exit
_ignored_exit = ""  # a call of sys.exit() that Python ignores: in __del__, or registered with atexit


def _write_error(text: str, at: int, size: int) -> None:
    data = text.encode("utf-8", "replace")[: size - 1]
    _memory[at : at + len(data)] = data
    _memory[at + len(data)] = 0


def _numbers(items: Any) -> tuple[Any, int]:
    return (_U32 * len(items))(*items), len(items)


# ---- errors of a filter


def _sentence(error: BaseException, file: str) -> str:
    return sentence(error, file, "filter")


def _report(error: BaseException, file: str) -> str:
    return report(error, file, "filter")


def _note(text: str) -> None:
    if _in_worker:
        os.write(_CRASH_DESCRIPTOR, text.encode("utf-8", "replace"))


def _end_of_memory(error: MemoryError, file: str) -> NoReturn:
    try:
        note = _report(error, file)
    except MemoryError:
        note = "MemoryError"
    _library.weir_filter_host_out_of_memory(note.encode("utf-8", "replace") + b"\n")
    raise SystemExit(1)  # not reached


def _exit(error: SystemExit, file: str) -> NoReturn:
    """As exit() ends a filter in C++: the worker is gone, and this slice is blamed."""
    _note(_report(error, file))
    if not _in_worker:
        sys.stderr.write(_report(error, file))
    _finish()
    if not _in_worker:  # `weir filter try`, whose handler of exit() names the slice
        ctypes.CDLL(None).exit(1)
    code = error.code
    _end_process(0 if code is None else code & 0xFF if isinstance(code, int) else 1)


def _refuse_exits(command: str) -> None:
    """Gives os._exit(), and sys.exit() where Python ignores it, a sentence and a status."""
    ignored = sys.unraisablehook

    def note(problem: Any) -> None:
        global _ignored_exit
        if isinstance(problem.exc_value, SystemExit):
            place = getattr(problem.object, "__qualname__", repr(problem.object))
            _ignored_exit = f"{command}the filter calls sys.exit() in {place}, which Python ignores"
        ignored(problem)

    def end(status: int = 0) -> NoReturn:
        if os.getpid() == _process:  # not a child of the filter
            caller = sys._getframe(1)
            place = f"{os.path.basename(caller.f_code.co_filename)}:{caller.f_lineno}"
            print(f"{command}the filter calls os._exit() ({place})", file=sys.stderr, flush=True)
            if command == _TRY:
                ctypes.CDLL(None).exit(1)  # its handler names the slice
            status = status or 1
        _end_process(status)

    sys.unraisablehook = note
    os._exit = end


def _finish() -> None:
    """Does the work of the interpreter's own exit, without waiting for a thread of the filter.

    Runs the functions of atexit, destroys the objects of the filter's modules, and flushes open files. Of
    a child that the filter has forked, nothing of its parent's.
    """
    if os.getpid() == _process:
        try:
            for one in _loaded:
                one.instances.clear()
            atexit._run_exitfuncs()
            gc.collect()
            for one in _loaded:
                one.clear()
            gc.collect()
            for item in gc.get_objects():
                if isinstance(item, io.IOBase) and not item.closed:
                    with contextlib.suppress(Exception):
                        item.flush()
        except BaseException:
            traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


# ---- one filter


class _Services(Services):
    def __init__(self, address: int) -> None:
        self.address = address
        self.host = _Host.from_address(address)
        self.deciding_batch = False

    def log(self, level: int, text: str) -> None:
        for line in text.splitlines() or [""]:
            self.host.log(self.address, level, line.encode("utf-8", "replace"))

    def stream(self, name: str) -> int:
        return int(self.host.stream(self.address, name.encode()))

    def counter(self, name: str) -> Callable[[int], None]:
        handle, count, address = self.host.counter(self.address, name.encode()), self.host.count, self.address
        return lambda amount: count(address, handle, amount)

    def group(self, name: str) -> tuple[int, list[int]] | None:
        handle = self.host.group(self.address, name.encode())
        if handle == _NO_GROUP:
            return None
        size = self.host.group_sources(self.address, handle, None, 0)
        sources = (_U32 * size)()
        self.host.group_sources(self.address, handle, ctypes.cast(sources, _POINTER), size)
        return handle, list(sources)

    def book(self, kind: int, name: str, x: Axis, y: Axis) -> Callable[[Values, Values, Values, Slice | None], None]:
        text = ctypes.create_string_buffer(name.encode())
        booking = ctypes.create_string_buffer(
            _BOOKING.pack(_BOOKING.size, kind, ctypes.addressof(text), x[0], x[1], x[2], y[0], y[1], y[2])
        )
        handle = self.host.book_histogram(self.address, ctypes.addressof(booking))

        def fill(x: Values, y: Values, weight: Values, slice_: Slice | None) -> None:
            if not self.deciding_batch:
                self.fill(handle, x, y, weight)
            elif slice_ is None:
                raise ValueError("in process_many(), name the slice: fill(..., slice=one)")
            else:
                slice_._fills.append((handle, x, y, weight))

        return fill

    def fill(self, handle: int, x: Values, y: Values, weight: Values) -> None:
        if isinstance(x, (int, float)) and isinstance(y, (int, float)) and isinstance(weight, (int, float)):
            self.host.fill(self.address, handle, x, y, weight)
            return
        arrays = [np.ascontiguousarray(one, np.float64) for one in np.broadcast_arrays(x, y, weight)]
        _library.weir_filter_host_fill(
            _POINTER(self.address), _U32(handle), *(_POINTER(one.ctypes.data) for one in arrays), _U64(arrays[0].size)
        )


class _LogHandler(logging.Handler):
    """Sends records of the module logging to the farm's log."""

    def __init__(self, services: _Services) -> None:
        super().__init__()
        self.services = services

    def emit(self, record: logging.LogRecord) -> None:
        level = min(max(record.levelno // 10 - 1, 0), 3)  # DEBUG 10 to ERROR 40
        self.services.log(level, self.format(record))


class _Instance:
    """A filter object, and its decisions in the form of the ABI."""

    def __init__(self, kind: type, setup: Setup, services: _Services, file: str) -> None:
        wants_setup = getattr(kind, "__init__", None) is not object.__init__
        self.filter = kind(setup) if wants_setup else kind()
        setup.refuse_unknown()
        self.services = services
        self.file = file
        self.memory: Memory[Any] = Memory()
        self.many: Callable[[list[Slice]], Any] | None = getattr(self.filter, "process_many", None)
        self.batch: list[tuple[Slice, Any]] = []  # decided, in the order of process(), the next one last
        drop = self.memory.drop
        self._destroy_state = _DESTROY_STATE(lambda number: drop(number or 0))
        self._destroy_address = ctypes.cast(self._destroy_state, _POINTER).value

    # A batch that fails leaves no decisions: process() then takes its slices one by one.
    def begin_batch(self, first: int, count: int) -> None:
        assert self.many is not None
        self.batch = []
        slices = [Slice(_readable, first + i * SLICE_BYTES, self.memory) for i in range(count)]
        if count == 1:
            return
        self.services.deciding_batch = True
        try:
            decisions = list(self.many(slices))
            if len(decisions) == count:
                self.batch = list(zip(slices, decisions))[::-1]
        except MemoryError as error:
            _end_of_memory(error, self.file)
        except SystemExit as error:
            _exit(error, self.file)
        except BaseException as error:
            traceback.clear_frames(error.__traceback__)
        finally:
            self.services.deciding_batch = False

    def process(self, address: int, decision: int) -> str | None:
        """Decides; returns the reason if the filter fails."""
        why = None
        slice_: Slice | None = None
        try:
            if self.batch:
                slice_, answer = self.batch.pop()
            else:
                slice_ = Slice(_readable, address, self.memory)
                answer = self._decide(slice_)
            self._apply(answer, slice_, decision)
        except MemoryError as error:
            _end_of_memory(error, self.file)
        except SystemExit as error:
            _exit(error, self.file)
        except BaseException as error:
            why = _report(error, self.file)
            traceback.clear_frames(error.__traceback__)
        answer = None
        if slice_ is not None and self._keeps(slice_._end(), address):
            return why or (
                "it keeps a view of the slice's bytes after process(): copy it (numpy.array(view)), or keep numbers"
            )
        return why

    def _decide(self, slice_: Slice) -> Any:
        if self.many is None:
            return self.filter.process(slice_)
        answers = list(self.many([slice_]))
        if len(answers) != 1:
            raise TypeError(f"process_many() returned {len(answers)} decisions for 1 slice")
        return answers[0]

    def _apply(self, answer: Any, slice_: Slice, address: int) -> None:
        host, at = self.services.host, self.services.address
        if not isinstance(answer, Decision):
            name = "process()" if self.many is None else "process_many()"
            raise TypeError(f"{name} returned {answer!r}: return accept(), reject(), need(), need_all() or forward()")
        for entry in slice_._fills:
            self.services.fill(*entry)
        slice_._fills = []
        if slice_._alert is not None:
            before_ms, after_ms, reason = slice_._alert
            host.alert(at, before_ms, after_ms, reason.encode("utf-8", "replace"))
        refused = 0
        for event, data in answer.events:
            data = bytes(data)
            refused = refused or host.add_event(at, whole(event, "event id", 64), data, len(data))
        if refused:
            raise ValueError("more output events than the farm allows")
        if answer.result is not None:
            data = bytes(answer.result)
            if host.set_result(at, data, len(data)):
                raise ValueError(f"a filter result of {len(data)} bytes is more than the farm allows")
        if answer.payload is not None:
            name, payload = answer.payload
            payload = bytes(payload)
            if host.forward(at, name.encode(), payload, len(payload)):
                raise ValueError(f"it cannot forward {len(payload)} bytes to group '{name}'")
        if answer.sources:
            add = host.keep_sources if answer.keep else host.need_sources
            add(at, *_numbers(answer.sources))
        for group in answer.groups:
            host.need_group(at, group)
        sources, groups = answer.prefetch
        if sources:
            host.prefetch_sources(at, *_numbers(sources))
        for group in groups:
            host.prefetch_group(at, group)
        if slice_._remembers is not None:
            self._remember(slice_)
        _DECISION.pack_into(_memory, address + 4, answer.verdict, answer.keep, answer.need_all, answer.streams or 1,
                            answer.prescale, answer.counter)  # fmt: skip

    def _remember(self, slice_: Slice) -> None:
        old, _ = _STATE.unpack_from(_readable, slice_._state)
        self.memory.drop(old)
        _STATE.pack_into(_memory, slice_._state, self.memory.add(slice_._remembers), self._destroy_address)
        slice_._remembers = None

    def _keeps(self, views: list[Any], address: int) -> bool:
        """Returns True if the filter refers to one of the arrays: then their bytes stay as they are."""
        if not are_referred_to(views):
            return False
        gc.collect()  # a cycle may refer to it
        if not are_referred_to(views):
            return False
        _library.weir_filter_host_keep(ctypes.c_void_p(address))
        return True

    def first_sources(self) -> list[int] | None:
        wish = self.filter.first_sources
        found = wish() if callable(wish) else wish
        return None if found is None else [source_number(source) for source in found]


# ---- the functions of the ABI


class _Loaded:
    """A filter's file, compiled, as a weir_filter_plugin."""

    def __init__(self, files: list[tuple[str, bytes]]) -> None:
        self.path, source = files[0]
        stem = os.path.splitext(os.path.basename(self.path))[0]
        folder = os.path.dirname(self.path)
        refuse_hidden_modules(folder)
        self.copied = CopiedModules(folder, files[1:])
        sys.meta_path.insert(0, self.copied)
        self.module = self._execute(stem, source)
        self.kind = getattr(self.module, "Filter", None)
        if not isinstance(self.kind, type):
            raise ParameterError("has no class Filter")
        if not callable(getattr(self.kind, "process", None)) and not callable(getattr(self.kind, "process_many", None)):
            raise ParameterError("its class Filter has neither process(self, slice) nor process_many(self, slices)")
        about = (self.kind.__doc__ or self.module.__doc__ or "a filter in Python").strip().splitlines()
        self.texts = [stem.encode(), str(getattr(self.module, "__version__", "0")).encode(), about[0].encode()]
        self.instances: dict[int, _Instance] = {}
        self.struct = _Plugin(
            ctypes.sizeof(_Plugin), _ABI, *self.texts,
            _Plugin._fields_[5][1](self.create), _Plugin._fields_[6][1](self.begin_run),
            _Plugin._fields_[7][1](self.process), _Plugin._fields_[8][1](self.end_run),
            _Plugin._fields_[9][1](self.destroy),
        )  # fmt: skip
        if hasattr(self.kind, "first_sources"):
            self.struct.first_sources = _Plugin._fields_[10][1](self.first_sources)

    def _execute(self, stem: str, source: bytes) -> types.ModuleType:
        name = stem if stem not in sys.modules else f"{stem}_{len(_loaded)}"
        module = types.ModuleType(name)
        module.__file__ = self.path
        sys.modules[name] = module
        show_in_tracebacks(self.path, source)
        exec(compile(source, self.path, "exec"), module.__dict__)
        return module

    def clear(self) -> None:
        """Destroys the objects of the filter's modules."""
        if threading.active_count() > 1:
            return  # a thread of the filter may still use it
        self.module.__dict__.clear()
        clear(sys.modules, self.copied)

    def create(self, parameters: int, host: int, error: int, size: int) -> int | None:
        try:
            _, count, stride, _, table = _PARAMETERS.unpack_from(_readable, parameters)
            values = {}
            for i in range(count):
                name, value = struct.unpack_from("<QQ", _readable, table + i * stride)
                values[ctypes.string_at(name).decode()] = ctypes.string_at(value).decode()
            services = _Services(host)
            if not self.instances:
                logging.getLogger().addHandler(_LogHandler(services))
            made = _Instance(self.kind, Setup(values, services), services, self.path)  # type: ignore[arg-type]
            number = next(_numbers_of_instances)
            self.instances[number] = made
            return number
        except BaseException as problem:
            _write_error(_sentence(problem, self.path), error, size)
            return None

    def begin_run(self, instance: int, run: int, error: int, size: int) -> int:
        try:
            begin = getattr(self.instances[instance].filter, "begin_run", None)
            if begin is not None:
                _, number, start, count, _, sources = _RUN.unpack_from(_readable, run)
                begin(RunInfo(number, start, list((_U32 * count).from_address(sources)) if count else []))
            return 0
        except BaseException as problem:
            _write_error(_sentence(problem, self.path), error, size)
            return 1

    def process(self, instance: int, slice_: int, decision: int, error: int, size: int) -> int:
        why = self.instances[instance].process(slice_, decision)
        if why is None:
            return 0
        _write_error(why, error, size)
        return 1

    def end_run(self, instance: int) -> None:
        made = self.instances[instance]
        try:
            end = getattr(made.filter, "end_run", None)
            if end is not None:
                end()
        except BaseException as problem:
            made.services.log(3, _report(problem, self.path))

    def destroy(self, instance: int) -> None:
        self.instances.pop(instance, None)

    def first_sources(self, instance: int, sources: int | None, capacity: int) -> int:
        made = self.instances[instance]
        try:
            wish = made.first_sources()
        except BaseException as problem:
            made.services.log(3, _report(problem, self.path))
            return _ALL_SOURCES
        if wish is None:
            return _ALL_SOURCES
        if sources:
            taken = wish[:capacity]
            ctypes.memmove(sources, (_U32 * len(taken))(*taken), 4 * len(taken))
        return len(wish)


_loaded: list[_Loaded] = []
_numbers_of_instances = itertools.count(1)  # of all loaded filters


def _load(files: int, count: int, error: int, size: int) -> int | None:
    copies = []
    for i in range(count):
        path, content, length = _FILE.unpack_from(_readable, files + i * _FILE.size)
        copies.append((os.path.abspath(os.fsdecode(ctypes.string_at(path))), ctypes.string_at(content, length)))
    file = copies[0][0]
    try:
        faulthandler.enable(_CRASH_DESCRIPTOR if _in_worker else sys.stderr, all_threads=False)
        if _in_worker:
            faulthandler.register(signal.SIGQUIT, _CRASH_DESCRIPTOR, all_threads=False, chain=True)
        _loaded.append(_Loaded(copies))
        return ctypes.addressof(_loaded[-1].struct)
    except BaseException as problem:
        _write_error(_sentence(problem, file), error, size)
        return None


def _instance(number: int) -> _Instance:
    return next(loaded.instances[number] for loaded in _loaded if number in loaded.instances)


def _has_batches(instance: int) -> int:
    return int(_instance(instance).many is not None)


def _begin_batch(instance: int, slices: int, count: int) -> None:
    _instance(instance).begin_batch(slices, count)


# ---- commands


def _work() -> int:
    global _in_worker
    if not _library.weir_filter_host_is_worker():
        print("weir_daq.filter_host worker is started by weir-dcm, not by hand", file=sys.stderr)
        return 2
    _in_worker = True
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a worker that is killed has printed its lines
    _library.weir_filter_host_prepare()
    return int(_library.weir_filter_host_work())


def _check(settings: str) -> int:
    _refuse_exits("")
    text = ctypes.create_string_buffer(_TEXT_MAX)
    status = int(_library.weir_filter_host_check(settings.encode(), text, _TEXT_MAX))
    _finish()  # the filter may print at its end
    if _ignored_exit and status == 0:
        print(_ignored_exit, file=sys.stderr, flush=True)
        return 1
    sys.stdout.write(_CHECK_MARK + text.value.decode("utf-8", "replace"))
    return status


def _try(settings: str) -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _refuse_exits(_TRY)
    return int(_library.weir_filter_host_try(settings.encode()))


def main(words: list[str]) -> NoReturn:
    global _library
    verb, library, *settings = words
    _library = ctypes.CDLL(library)
    _library.weir_filter_host_out_of_memory.restype = None
    callbacks = (_LOAD(_load), _HAS_BATCHES(_has_batches), _BEGIN_BATCH(_begin_batch))  # used until the end
    _library.weir_filter_host_set_up(*callbacks)
    status = _work() if verb == "worker" else _check(settings[0]) if verb == "check" else _try(settings[0])
    _finish()
    if _ignored_exit and status == 0:
        print(_ignored_exit, file=sys.stderr, flush=True)
        status = 1
    # Threads that the filter has left running must not hold the process.
    _end_process(status)


if __name__ == "__main__":
    main(sys.argv[1:])
