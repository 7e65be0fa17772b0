"""Run control from Python: starts a farm or joins one, takes runs, scans a setting. Needs pyzmq and protobuf."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Union

from . import bus, scan
from ._packages import need
from .errors import ControlError, NoAnswerError

Value = Union[str, int, float, bool]

_ADDRESS = re.compile(rb"--connect (\S+) status\n")
_POLL_S = 0.05
_POLL_MAX_S = 1.0  # of a run that lasts
_AWAY_S = 120.0  # of a run control that is being restarted
_STARTED_S = 60.0
_IDLE, _STANDBY, _READY, _RUNNING, _PAUSED, _ERROR = "idle", "standby", "ready", "running", "paused", "error"


@dataclass(frozen=True)
class NodeStatus:
    name: str
    role: str
    state: str  # gone: the process does not live
    reason: str
    host: str
    pid: int


@dataclass(frozen=True)
class RunResult:
    """The account of a run that has ended."""

    run: int
    duration_s: float
    triggered: int
    stored: int
    rejected: int
    discarded: int
    balanced: bool  # every slice is accounted for
    faults: bool  # something went wrong and was survived
    reason: str  # why the run ended

    @property
    def stored_rate_hz(self) -> float:
        return self.stored / self.duration_s if self.duration_s > 0 else 0.0


@dataclass(frozen=True)
class FarmStatus:
    farm: str
    state: str  # idle, standby, ready, running, paused, error
    under_way: str  # the transition that has not ended; empty: none
    reason: str
    run: int
    health: str  # the worst finding, "running" if all is well
    sets: list[str]  # of the last configure
    nodes: list[NodeStatus]
    runs: list[RunResult]  # the last ones, newest first
    counts: dict[str, int] = field(default_factory=dict)  # of the run that is on: offered, triggered, stored, ...
    fields: dict[str, str] = field(default_factory=dict)  # of the run, by its operator


@dataclass(frozen=True)
class ScanPoint:
    value: Value
    result: RunResult


def _text(value: Value) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _sets(settings: Mapping[str, Value]) -> list[str]:
    return [f"{key}={_text(value)}" for key, value in settings.items()]


def _entries(fields: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in fields.items()]


def _client_name() -> str:
    """For logs and records: "mark on daq-1, weir_daq, pid 4711"."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # without a name
        user = f"user {os.getuid()}"
    return f"{user} on {socket.gethostname()}, weir_daq, pid {os.getpid()}"


class Farm:
    """A farm under run control.

    Farm("farm.yaml") starts it on this machine (`weir up`) and ends it at close() or at the end of `with`.
    Farm(connect="host:port") joins one that is on, and leaves it as it is.

    keys: folder of `weir keys new`, or its operator.curve, where the bus has keys. settings: keys of the farm file, as
    of --set. weir: the command. For one thread. Errors: ControlError with run control's sentence.
    """

    def __init__(
        self,
        farm_file: str | os.PathLike[str] | None = None,
        *,
        connect: str | None = None,
        keys: str | os.PathLike[str] | None = None,
        settings: Mapping[str, Value] | None = None,
        weir: str = "weir",
        timeout_s: float = 5.0,
    ) -> None:
        if (farm_file is None) == (connect is None):
            raise ValueError("give either a farm file or connect=HOST:PORT")
        self._zmq = need("zmq", "run control")
        bus.message("Request")
        self._timeout_s = timeout_s
        self._keys = bus.read_keys(keys, "operator") if keys else None
        self._requests = 0
        self._output: Any = None
        self._process: subprocess.Popen[bytes] | None = None
        self._context = self._zmq.Context()
        try:
            self.connect = connect or self._launch(os.fspath(farm_file or ""), settings or {}, weir)
            host, port = bus.host_and_port(self.connect)
            self._control = bus.connect(self._context, self._zmq.DEALER, host, port, self._keys, 0)
            self.status()
        except BaseException:
            self._end_process(ends=False)
            self._context.destroy(linger=0)
            raise

    def __enter__(self) -> Farm:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Disconnects; ends the farm, in any state, if this object started it. A run that is on is stopped."""
        if self._context.closed:
            return
        ends = False
        try:
            if self._process is not None and self._process.poll() is None:
                if self.status().state in (_RUNNING, _PAUSED):
                    self.stop()
                with suppress(ControlError):  # refused during a transition
                    self._request("off")
                    ends = True
        finally:
            self._end_process(ends)
            self._context.destroy(linger=200)

    def status(self) -> FarmStatus:
        """Returns where the farm and its processes are."""
        view = self._request("status").view
        findings = [one.reason or one.word for one in view.health]
        return FarmStatus(
            view.farm,
            view.state,
            view.under_way,
            view.reason,
            view.run,
            findings[0] if findings else "",
            list(view.sets),
            [_node(one) for one in view.nodes],
            [_result(one) for one in view.runs],
            {one.key: one.value for node in view.nodes if node.role == "supervisor" for one in node.report.counters},
            {one.key: one.value for one in view.run_fields},
        )

    def set(self, settings: Mapping[str, Value]) -> None:
        """Sets keys of the farm file for the next configure()."""
        self._request("set", sets=_sets(settings))

    def configure(self, settings: Mapping[str, Value] | None = None) -> None:
        """Loads the farm file and these settings in every process; afterwards the farm is ready."""
        if self.status().state == _IDLE:
            self._lead("init")
        self._lead("configure", sets=_sets(settings or {}))

    def start(
        self,
        run: int = 0,
        *,
        slices: int | None = None,
        duration_s: float | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> int:
        """Begins a run and returns its number; configures the farm first if it is not ready. run=0: the next number.

        fields: descriptions for the run's record: comment, type, shifter, quality, and names of your own.
        """
        if self.status().state in (_IDLE, _STANDBY):
            self.configure()
        limits = {"run.slices": slices, "run.duration_s": duration_s}
        sets = _sets({key: value for key, value in limits.items() if value is not None})
        self._lead("start", run=run, sets=sets, fields=_entries(fields or {}))
        return self.status().run

    def annotate(self, run: int, fields: Mapping[str, str]) -> None:
        """Adds fields to a run after its start; an empty value removes a field."""
        self._request("annotate", run=run, fields=_entries(fields))

    def pause(self) -> None:
        """Takes no triggers until continue_run()."""
        self._lead("pause")

    def continue_run(self) -> None:
        self._lead("continue")

    def reset(self) -> None:
        """Returns the farm to idle from any state; a current run is lost."""
        self._lead("reset")

    def stop(self, reason: str = "") -> RunResult:
        """Drains and ends the run; returns its account."""
        run = self.status().run
        self._lead("stop", reason=reason)
        return self._account_of(run)

    def wait(self, timeout_s: float | None = None, each: Callable[[FarmStatus], None] | None = None) -> RunResult:
        """Waits for the end of the run that is on, and returns its account. Raises ControlError at the timeout.

        each: is called with each status. A run control that is being restarted meanwhile is waited for.
        """
        run = self.status().run
        begun = heard = time.monotonic()
        until = None if timeout_s is None else begun + timeout_s
        while True:
            try:
                status = self.status()
                heard = time.monotonic()
            except NoAnswerError:
                if time.monotonic() - heard > _AWAY_S:
                    raise
                continue
            if each is not None:
                each(status)
            if status.state == _ERROR:
                raise ControlError(f"run {run} failed: {status.reason}")
            if status.state not in (_RUNNING, _PAUSED) and not status.under_way:
                return self._account_of(run)
            if until is not None and time.monotonic() >= until:
                raise ControlError(f"run {run} has not ended within {timeout_s:g} s: stop() ends it")
            self._pause(min(_POLL_MAX_S, max(_POLL_S, (time.monotonic() - begun) / 20)))

    def tell_sequence(self, **progress: Any) -> None:
        """Shows the progress of a sequence of runs (bus.SCHEMA) in `weir ctl status` and on the page."""
        self._request("sequence", sequence=bus.message("Sequence", **progress))

    def scan(
        self,
        key: str,
        values: Iterable[Value],
        *,
        slices: int | None = None,
        duration_s: float | None = None,
        progress: bool | None = None,
    ) -> list[ScanPoint]:
        """Takes one run per value of a farm-file key and returns their accounts, in order.

        slices, duration_s: the length of each run, one of them at least. progress: a bar on stderr; None: if that is
        a terminal. After an error or an interrupt the run that is on is stopped.
        """
        if "." not in key:
            raise ValueError(f"'{key}' is not a key of the farm file, as dcm.credits is")
        points = [scan.Point({key: value}, number) for number, value in enumerate(values)]
        wanted = scan.Plan(points, slices, duration_s, on_failure="stop", name=key)
        shown = sys.stderr.isatty() if progress is None else progress
        bar = need("tqdm", "a progress bar").tqdm(total=len(points), desc=key, unit="run") if shown else None

        def report(done: scan.Done, *_: Any) -> None:
            if bar is not None:
                bar.set_postfix_str(f"{key}={done.point.values[key]}")
                bar.update()

        try:
            done = scan.carry_out(self, wanted, scan.Results(), report, scan.progress_of(self))
        finally:
            if bar is not None:
                bar.close()
        return [ScanPoint(one.point.values[key], RunResult(**one.result)) for one in done]

    # ---- the bus

    def _request(self, command: str, **values: Any) -> Any:
        self._requests += 1
        self._control.send(bus.request(id=self._requests, command=command, by=_client_name(), **values))
        until = time.monotonic() + self._timeout_s
        while (left := until - time.monotonic()) > 0:
            if not self._control.poll(int(1000 * left) + 1):
                continue
            reply = bus.reply(self._control.recv())
            if reply is None or reply.id != self._requests:
                continue
            if reply.pending_ms:  # hooks are asked first
                until = time.monotonic() + self._timeout_s + reply.pending_ms / 1000
                continue
            if not reply.good:
                raise ControlError(f"run control refuses `{command}`: {reply.error or 'without a reason'}")
            return reply
        raise NoAnswerError(
            f"run control at {self.connect} does not answer within {self._timeout_s:g} s: check that it is running, "
            "that this is the port of control.listen and not the page's, and that both have the same keys"
        )

    def _lead(self, command: str, **values: Any) -> None:
        """Carries out a transition and waits for its end."""
        self._request(command, **values)
        while True:
            status = self.status()
            if not status.under_way:
                break
            self._pause()
        if status.state == _ERROR:
            raise ControlError(f"`{command}` failed: {status.reason}")
        if command == "configure" and status.state != _READY:
            raise ControlError(f"`{command}` is refused: {status.health or 'without a reason'}")

    def _account_of(self, run: int) -> RunResult:
        until = time.monotonic() + self._timeout_s
        while time.monotonic() < until:
            found = [one for one in self.status().runs if one.run == run]
            if found:
                return found[0]
            self._pause()
        raise ControlError(f"run {run} ended without an account: see its log")

    def _pause(self, seconds: float = _POLL_S) -> None:
        self._control.poll(int(1000 * seconds))

    # ---- a farm of its own

    def _launch(self, farm_file: str, settings: Mapping[str, Value], weir: str) -> str:
        command = shutil.which(weir)
        if command is None:
            raise ControlError(f"no command '{weir}': install Weir, or give weir='/path/to/weir'")
        words = [command, "up", farm_file]
        # The farm ends with this process, however that ends; an interrupt from the terminal is this process' alone.
        if shutil.which("setpriv"):
            words = ["setpriv", "--pdeathsig", "TERM", *words]
        if not any(key == "control.listen" for key in settings):
            words += ["--listen", "127.0.0.1:0"]
        words += [word for one in _sets(settings) for word in ("--set", one)]
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close())
        self._process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output, start_new_session=True
        )
        until = time.monotonic() + _STARTED_S
        while time.monotonic() < until:
            found = _ADDRESS.search(self._said())
            if found:
                return found[1].decode()
            try:
                self._process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                continue
            raise ControlError(f"`weir up {farm_file}` ended: {self._said().decode(errors='replace').strip()}")
        said = self._said().decode(errors="replace").strip()
        raise ControlError(
            f"`weir up {farm_file}` has not said where run control is within {_STARTED_S:g} s: {said or 'nothing'}"
        )

    def _said(self) -> bytes:
        # Not by seek and read: the child writes at the offset that both share.
        descriptor = self._output.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0)

    def _end_process(self, ends: bool) -> None:
        """Waits for the end of the farm, which `off` has begun if `ends`; otherwise a signal begins it."""
        if self._process is not None:
            if not ends:
                self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(self._timeout_s + 20)
            except subprocess.TimeoutExpired:
                self._process.send_signal(signal.SIGTERM)
                self._process.wait()
        if self._output is not None:
            self._output.close()


def _node(one: Any) -> NodeStatus:
    state = one.state.state if one.live else "gone"
    return NodeStatus(one.name, one.role, state, one.state.reason, one.host, one.pid)


def _result(one: Any) -> RunResult:
    return RunResult(
        one.run,
        one.duration_ns / 1e9,
        one.triggered,
        one.stored,
        one.rejected,
        one.discarded,
        one.balanced,
        one.faults,
        one.reason,
    )
