"""Scans: runs over values of farm-file keys, which resume after an interruption and continue after a failed run."""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

from ._packages import need
from .errors import ControlError, NoAnswerError

if TYPE_CHECKING:
    from .farm import Farm, FarmStatus, RunResult

Value = Union[str, int, float, bool]
_KEYS = {"values", "runs", "slices", "duration_s", "stored", "fields", "retries", "prepare", "wait_for", "on_failure"}
_TELL_S = 5.0  # between two messages about the progress
_PATIENCE_S = 120.0  # with a run control that does not answer
_TEXT_MAX = 300  # of a command's output
FIELD = "scan"  # of each run


@dataclass(frozen=True)
class Point:
    """One run of a scan."""

    values: Mapping[str, Value]
    repetition: int = 0

    @property
    def name(self) -> str:
        text = " ".join(f"{key}={value}" for key, value in self.values.items())
        return text if self.repetition == 0 else f"{text} (run {self.repetition + 1})"

    @property
    def settings(self) -> dict[str, Value]:
        """The values of keys of the farm file, which have a dot. Others are for commands, and fields of the run."""
        return {key: value for key, value in self.values.items() if "." in key}

    @property
    def fields(self) -> dict[str, str]:
        return {key: str(value) for key, value in self.values.items() if "." not in key}


@dataclass(frozen=True)
class Command:
    """A command for the shell before a run. Values are in its environment, as WEIR_VALUE_KEY."""

    run: str
    limit_s: float = 60.0
    every_s: float = 5.0  # of a condition


@dataclass(frozen=True)
class Done:
    """A run of a scan that was taken, or failed."""

    point: Point
    run: int  # 0: it did not begin
    failure: str  # empty: the run's ledger balances
    result: dict[str, Any] = field(default_factory=dict)  # RunResult, by name
    seconds: float = 0.0


@dataclass(frozen=True)
class Plan:
    """The points of a scan in their order, and the length of each run."""

    points: list[Point]
    slices: int | None = None  # triggered ones
    duration_s: float | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    retries: int = 0  # of a run that fails
    stored: int | None = None  # slices
    prepare: Command | None = None  # before each run, once
    wait_for: Command | None = None  # before each run, until its exit status is 0
    on_failure: str = "continue"  # or stop
    name: str = "scan"

    def __post_init__(self) -> None:
        if self.slices is None and self.duration_s is None and self.stored is None:
            raise ValueError("a scan needs the length of its runs: slices, stored or duration_s")
        if not self.points:
            raise ValueError("a scan needs values")


@dataclass(frozen=True)
class Progress:
    """How far a scan is."""

    name: str
    runs: int
    good: int
    failed: int
    point: str = ""
    waits_for: str = ""
    left_s: float | None = None  # None: unknown
    over: bool = False


def plan(values: Mapping[str, Iterable[Value]], *, runs: int = 1, **length: Any) -> Plan:
    """Returns the plan of all combinations; the last key varies fastest, and each combination has so many runs."""
    keys = list(values)
    combinations = [dict(zip(keys, chosen)) for chosen in itertools.product(*(list(values[key]) for key in keys))]
    points = [Point(chosen, repetition) for chosen in combinations if chosen for repetition in range(runs)]
    return Plan(points, **length)


def _values(key: str, given: Any) -> list[Value]:
    if isinstance(given, dict):
        if set(given) != {"from", "to", "step"} or not all(isinstance(one, (int, float)) for one in given.values()):
            raise ValueError(f"values.{key}: give a list, or numbers for from, to and step")
        count = (given["to"] - given["from"]) / given["step"] if given["step"] else -1
        if not 0 <= count <= 100_000:
            raise ValueError(f"values.{key}: the step does not lead from {given['from']} to {given['to']}")
        found = [given["from"] + i * given["step"] for i in range(int(count + 1e-9) + 1)]
        return [float(f"{one:.12g}") if isinstance(one, float) else one for one in found]
    if not isinstance(given, list) or not all(isinstance(one, (str, int, float)) for one in given):
        raise ValueError(f"values.{key}: give a list, or from, to and step")
    return list(given)


def _command(key: str, given: Any) -> Command:
    known = {"run": str, "limit_s": (int, float), "every_s": (int, float)}
    wanted = {"run": given} if isinstance(given, str) else given
    if not isinstance(wanted, dict) or not isinstance(wanted.get("run"), str) or not wanted["run"]:
        raise ValueError(f"{key}: give a command, or `run: COMMAND` with limit_s and every_s")
    for name, value in wanted.items():
        if name not in known or isinstance(value, bool) or not isinstance(value, known[name]):  # type: ignore[arg-type]
            raise ValueError(f"{key}.{name}: use run, limit_s and every_s; times in seconds")
        if name != "run" and not 0.1 <= value <= 1e6:
            raise ValueError(f"{key}.{name}: from 0.1 to 1,000,000 s")
    return Command(**wanted)


def _check(given: dict[str, Any]) -> None:
    """Raises ValueError with the wrong key."""
    if unknown := set(given) - _KEYS:
        raise ValueError(f"unknown key {sorted(unknown)[0]}: use {', '.join(sorted(_KEYS))}")
    for key in ("runs", "slices", "stored", "retries"):
        least = 0 if key == "retries" else 1
        value = given.get(key, least)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{key} is not a number of them")
    if "duration_s" in given and not (isinstance(given["duration_s"], (int, float)) and given["duration_s"] > 0):
        raise ValueError("duration_s is not a time")
    if given.get("on_failure", "continue") not in ("continue", "stop"):
        raise ValueError("on_failure is continue or stop")
    if not isinstance(given.get("fields") or {}, dict):
        raise ValueError("fields: give name: value")


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Reads a file of a scan: YAML, or JSON without another package. Raises ValueError that names the key."""
    file_name = os.fspath(path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        given = json.loads(text) if file_name.endswith(".json") else need("yaml", "a scan").safe_load(text)
    except Exception as error:
        if type(error).__module__.startswith(("yaml", "json")):
            raise ValueError(f"{file_name}: {error}") from None
        raise
    if not isinstance(given, dict) or not isinstance(given.get("values"), dict):
        raise ValueError(f"{file_name}: no `values`: keys of the farm file with lists of values")
    try:
        _check(given)
        values = {str(key): _values(str(key), one) for key, one in given["values"].items()}
        plain = ("slices", "duration_s", "stored", "retries", "on_failure")
        others = {key: given[key] for key in plain if key in given}
        for key in ("prepare", "wait_for"):
            if key in given:
                others[key] = _command(key, given[key])
        fields = {str(name): str(value) for name, value in (given.get("fields") or {}).items()}
        return plan(values, runs=given.get("runs", 1), fields=fields, name=os.path.basename(file_name), **others)
    except ValueError as error:
        raise ValueError(f"{file_name}: {error}") from None


class Results:
    """The results of a scan: a line of JSON a run in a file that only grows, from which it resumes.

    path=None: in memory only. A line that was cut by a crash is passed over.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = path
        self.begun: dict[str, int] = {}  # runs without a result, by point
        self.done: dict[str, Done] = {}  # the last result of each point
        if path is None or not os.path.exists(path):
            return
        with open(path, encoding="utf-8") as file:
            for line in file:
                try:
                    one = json.loads(line)
                    point = Point(one["values"], one["repetition"])
                    if one["begins"]:
                        self.begun[point.name] = one["run"]
                        continue
                    self.begun.pop(point.name, None)
                    done = Done(point, one["run"], one["failure"], one["result"], one["seconds"])
                except (ValueError, KeyError, TypeError):
                    continue
                self.done[point.name] = done

    def lock(self) -> None:
        """Keeps the file until the end of this process. Raises ControlError if another scan has it."""
        if self._path is None:
            return
        self._lock = open(self._path, "ab")  # noqa: SIM115
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ControlError(f"another scan writes {os.fspath(self._path)}: give --results another file") from None

    def _write(self, point: Point, **line: Any) -> None:
        if self._path is None:
            return
        text = json.dumps({"values": dict(point.values), "repetition": point.repetition, **line}, default=str)
        with open(self._path, "a+b") as file:
            file.seek(0, os.SEEK_END)
            cut = file.tell() > 0 and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n"
            file.write((b"\n" if cut else b"") + text.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def begin(self, point: Point, run: int) -> None:
        self.begun[point.name] = run
        self._write(point, begins=True, run=run)

    def add(self, done: Done) -> None:
        self.begun.pop(done.point.name, None)
        self.done[done.point.name] = done
        line = {"run": done.run, "failure": done.failure, "result": done.result, "seconds": round(done.seconds, 3)}
        self._write(done.point, begins=False, **line)

    def is_good(self, point: Point) -> bool:
        done = self.done.get(point.name)
        return done is not None and not done.failure


def remaining_s(results: Iterable[Done], left: int, duration_s: float | None = None) -> float | None:
    """Returns the expected time for so many further runs; None: unknown."""
    taken = [one.seconds for one in results if one.run and one.seconds > 0]
    if taken:
        return left * sum(taken) / len(taken)
    return None if duration_s is None else left * duration_s


def carry_out(
    farm: Farm,
    wanted: Plan,
    results: Results,
    report: Callable[[Done, int, float | None], None] = lambda *_: None,
    tell: Callable[[Progress], None] = lambda _: None,
) -> list[Done]:
    """Takes the runs of the plan that have no good result yet; returns the results in the plan's order.

    After each run `report` gets it, the number of runs that are left, and the seconds that these will take; `tell` gets
    the progress, every few seconds. A run that a killed scan had begun is waited for. on_failure of the plan: at `stop`
    the first failure is raised. After an interrupt the run that is on is stopped.
    """
    return _Engine(farm, wanted, results, tell).carry_out(report)


def progress_of(farm: Farm, results: str | os.PathLike[str] | None = None) -> Callable[[Progress], None]:
    """Returns a `tell` that shows the progress in `weir ctl status` and on the page.

    results: their file, by which a resumed scan is the same one. Raises ControlError at the first message if another
    scan is in progress.
    """
    identity = secrets.token_hex(8)
    if results is not None:
        place = f"{socket.gethostname()} {os.path.realpath(results)}"
        identity = hashlib.sha256(place.encode()).hexdigest()[:16]
    told = False

    def tell(progress: Progress) -> None:
        nonlocal told
        try:
            farm.tell_sequence(
                id=identity,
                name=progress.name,
                runs=progress.runs,
                good=progress.good,
                failed=progress.failed,
                point=progress.point,
                waits_for=progress.waits_for,
                left_s=progress.left_s or 0.0,
                over=progress.over,
            )
        except ControlError:
            if not told:
                raise
        told = True

    return tell


class _Engine:
    def __init__(self, farm: Farm, wanted: Plan, results: Results, tell: Callable[[Progress], None]) -> None:
        self._farm, self._plan, self._results, self._tell = farm, wanted, results, tell
        self._todo = [point for point in wanted.points if not results.is_good(point)]
        self._number = 0  # of self._todo
        self._begun = time.monotonic()
        self._told = 0.0

    def carry_out(self, report: Callable[[Done, int, float | None], None]) -> list[Done]:
        self._note()
        try:
            for number, point in enumerate(self._todo):
                self._number = number
                for attempt in range(self._plan.retries + 1):
                    self._begun = time.monotonic()
                    self._note(point)
                    done = self._take(point)
                    self._results.add(done)
                    if not done.failure or attempt == self._plan.retries:
                        break
                left = len(self._todo) - self._number - 1
                report(done, left, self._remaining(left))
                if done.failure and self._plan.on_failure == "stop":
                    raise ControlError(f"{point.name}: {done.failure}")
            self._number = len(self._todo)
        except BaseException:
            status = self._farm.status()
            if status.state in ("running", "paused") and status.run in self._results.begun.values():
                self._farm.stop("scan interrupted")
            raise
        finally:
            self._note(over=True)
        return [self._results.done[point.name] for point in self._plan.points]

    def _remaining(self, left: int) -> float | None:
        return remaining_s(self._results.done.values(), left, self._plan.duration_s)

    def _note(self, point: Point | None = None, waits_for: str = "", over: bool = False) -> None:
        self._told = time.monotonic()
        taken = [self._results.done[one.name] for one in self._plan.points if one.name in self._results.done]
        again = {one.name for one in self._todo[self._number :]}  # that failed in an earlier scan
        failed = sum(bool(one.failure) and one.point.name not in again for one in taken)
        left = self._remaining(len(self._todo) - self._number)
        if left is not None:
            left = max(0.0, left - (time.monotonic() - self._begun))
        good = sum(not one.failure for one in taken)
        name = "" if point is None else point.name
        points = len(self._plan.points)
        self._tell(Progress(self._plan.name, points, good, failed, name, waits_for, None if over else left, over))

    def _take(self, point: Point) -> Done:
        run = self._results.begun.get(point.name, 0)
        try:
            status = self._status()
            if run and not (status.state in ("running", "paused") and status.run == run):
                found = [one for one in status.runs if one.run == run]
                if found:
                    return self._done(point, found[0])
                run = 0
            if not run:
                if status.state in ("running", "paused"):
                    raise _StopError(f"run {status.run} is on: stop it before the scan")
                run = self._start(point, status)
            return self._done(point, self._farm.wait(each=lambda seen: self._look(point, seen)))
        except _StopError:
            raise
        except ControlError as error:
            return Done(point, run, str(error), {}, time.monotonic() - self._begun)

    # A run control that is being restarted is waited for; one that stays away ends the scan.
    def _status(self) -> FarmStatus:
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return self._farm.status()
            except NoAnswerError as error:
                if time.monotonic() >= until:
                    raise _StopError(str(error)) from None

    def _start(self, point: Point, status: FarmStatus) -> int:
        if status.state == "error":
            self._farm.reset()
        self._prepare(point)
        self._farm.configure(point.settings)
        self._wait_for(point)
        fields = {**self._plan.fields, **point.fields, FIELD: f"{self._plan.name}: {point.name}"}
        try:
            run = self._farm.start(slices=self._plan.slices, duration_s=self._plan.duration_s, fields=fields)
        except NoAnswerError:  # the run may have begun all the same
            now = self._status()
            if now.state not in ("running", "paused") or now.fields.get(FIELD) != fields[FIELD]:
                raise
            run = now.run
        self._results.begin(point, run)
        return run

    def _look(self, point: Point, status: FarmStatus) -> None:
        if time.monotonic() - self._told >= _TELL_S:
            self._note(point, waits_for="" if status.state == "running" else f"the farm, which is {status.state}")
        wanted = self._plan.stored
        if wanted is not None and status.state == "running" and status.counts.get("stored", 0) >= wanted:
            self._farm.stop(f"{wanted} slices stored")

    def _prepare(self, point: Point) -> None:
        command = self._plan.prepare
        if command is None:
            return
        status, said = self._run(command.run, command.limit_s, point, "prepare")
        if status != 0:
            raise ControlError(f"prepare: {said or f'exit status {status}'}")

    def _wait_for(self, point: Point) -> None:
        command = self._plan.wait_for
        until = time.monotonic() + (command.limit_s if command else 0)
        while command is not None:
            status, said = self._run(command.run, max(0.1, until - time.monotonic()), point, "wait_for")
            if status == 0:
                return
            if time.monotonic() + command.every_s > until:
                raise ControlError(f"wait_for does not hold after {command.limit_s:g} s: {said or status}")
            next_try = time.monotonic() + command.every_s
            while (left := next_try - time.monotonic()) > 0:
                if time.monotonic() - self._told >= _TELL_S:
                    self._note(point, waits_for=said or "wait_for")
                time.sleep(min(left, 0.5))

    # Returns the exit status, and the first line of the output. A command that takes too long is killed.
    def _run(self, command: str, limit_s: float, point: Point, what: str) -> tuple[int, str]:
        environment = {**os.environ, "WEIR_SCAN": self._plan.name, "WEIR_POINT": point.name}
        for key, value in point.values.items():
            environment["WEIR_VALUE_" + re.sub(r"\W", "_", key).upper()] = str(value)
        child = subprocess.Popen(
            ["/bin/sh", "-c", command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        until = time.monotonic() + limit_s
        try:
            while True:
                left = until - time.monotonic()
                try:
                    output = child.communicate(timeout=max(0.01, min(left, 1.0)))[0].decode(errors="replace").strip()
                    return child.returncode, output.split("\n", 1)[0][:_TEXT_MAX]
                except subprocess.TimeoutExpired:
                    if left <= 0:
                        return -1, f"took longer than {limit_s:g} s"
                if time.monotonic() - self._told >= _TELL_S:
                    self._note(point, waits_for=what)
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
            if child.stdout is not None:
                child.stdout.close()

    def _done(self, point: Point, result: RunResult) -> Done:
        failure = "" if result.balanced else f"the ledger of run {result.run} does not balance"
        return Done(point, result.run, failure, dict(vars(result)), time.monotonic() - self._begun)


class _StopError(ControlError):
    pass
