"""Scans: runs over values of farm-file keys, which resume after an interruption and continue after a failed run."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

from ._packages import need
from .errors import ControlError

if TYPE_CHECKING:
    from .farm import Farm, RunResult

Value = Union[str, int, float, bool]
_KEYS = {"values", "runs", "slices", "duration_s", "fields", "retries"}


@dataclass(frozen=True)
class Point:
    """One run of a scan."""

    values: Mapping[str, Value]
    repetition: int = 0

    @property
    def name(self) -> str:
        text = " ".join(f"{key}={value}" for key, value in self.values.items())
        return text if self.repetition == 0 else f"{text} (run {self.repetition + 1})"


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
    slices: int | None = None
    duration_s: float | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    retries: int = 0  # of a run that fails

    def __post_init__(self) -> None:
        if self.slices is None and self.duration_s is None:
            raise ValueError("a scan needs the length of its runs: slices or duration_s")
        if not self.points:
            raise ValueError("a scan needs values")


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


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Reads a file of a scan: YAML, or JSON without another package. Raises ValueError that names the key."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        given = json.loads(text) if os.fspath(path).endswith(".json") else need("yaml", "a scan").safe_load(text)
    except Exception as error:
        if type(error).__module__.startswith(("yaml", "json")):
            raise ValueError(f"{os.fspath(path)}: {error}") from None
        raise
    if not isinstance(given, dict) or not isinstance(given.get("values"), dict):
        raise ValueError(f"{os.fspath(path)}: no `values`: keys of the farm file with lists of values")
    if unknown := set(given) - _KEYS:
        raise ValueError(f"{os.fspath(path)}: unknown key {sorted(unknown)[0]}: use {', '.join(sorted(_KEYS))}")
    for key in ("runs", "slices", "retries"):
        if key in given and (not isinstance(given[key], int) or given[key] < (0 if key == "retries" else 1)):
            raise ValueError(f"{os.fspath(path)}: {key} is not a number of them")
    if "duration_s" in given and not (isinstance(given["duration_s"], (int, float)) and given["duration_s"] > 0):
        raise ValueError(f"{os.fspath(path)}: duration_s is not a time")
    fields = {str(name): str(value) for name, value in (given.get("fields") or {}).items()}
    length = {key: given[key] for key in ("slices", "duration_s", "retries") if key in given}
    values = {str(key): _values(str(key), one) for key, one in given["values"].items()}
    return plan(values, runs=given.get("runs", 1), fields=fields, **length)


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


def remaining_s(results: Iterable[Done], left: int) -> float | None:
    """Returns the expected time for so many further runs; None: unknown."""
    taken = [one.seconds for one in results if one.seconds > 0]
    return left * sum(taken) / len(taken) if taken else None


def carry_out(
    farm: Farm,
    wanted: Plan,
    results: Results,
    report: Callable[[Done, int, float | None], None] = lambda *_: None,
    on_failure: str = "continue",
) -> list[Done]:
    """Takes the runs of the plan that have no good result yet; returns the results in the plan's order.

    After each run `report` gets it, the number of runs that are left, and the seconds that these will take. A run that
    a killed scan had begun is waited for. on_failure: continue, or raise.
    After an interrupt the run that is on is stopped.
    """
    todo = [point for point in wanted.points if not results.is_good(point)]
    try:
        for number, point in enumerate(todo, 1):
            for attempt in range(wanted.retries + 1):
                done = _take(farm, wanted, point, results)
                results.add(done)
                if not done.failure or attempt == wanted.retries:
                    break
            report(done, len(todo) - number, remaining_s(results.done.values(), len(todo) - number))
            if done.failure and on_failure == "raise":
                raise ControlError(f"{point.name}: {done.failure}")
    except BaseException:
        status = farm.status()
        if status.state in ("running", "paused") and status.run in results.begun.values():
            farm.stop("scan interrupted")
        raise
    return [results.done[point.name] for point in wanted.points]


def _take(farm: Farm, wanted: Plan, point: Point, results: Results) -> Done:
    begun = time.monotonic()
    run = results.begun.get(point.name, 0)
    try:
        status = farm.status()
        if run and not (status.state in ("running", "paused") and status.run == run):
            found = [one for one in status.runs if one.run == run]
            if found:
                return _done(point, found[0], begun)
            run = 0
        if not run:
            if status.state in ("running", "paused"):
                raise _BusyError(f"run {status.run} is on: stop it before the scan")
            if status.state == "error":
                farm.reset()
            farm.configure(point.values)
            run = farm.start(slices=wanted.slices, duration_s=wanted.duration_s, fields=wanted.fields)
            results.begin(point, run)
        return _done(point, farm.wait(), begun)
    except _BusyError:
        raise
    except ControlError as error:
        return Done(point, run, str(error), {}, time.monotonic() - begun)


class _BusyError(ControlError):
    pass


def _done(point: Point, result: RunResult, begun: float) -> Done:
    failure = "" if result.balanced else f"the ledger of run {result.run} does not balance"
    return Done(point, result.run, failure, dict(vars(result)), time.monotonic() - begun)
