"""Converts a run: workers write parts, compare them with the run, and one rename publishes the set."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from . import formats
from ._packages import need
from ._tables import DECISION, REASON, STATUS
from .errors import ConvertError, WeirError
from .formats import Extent, Options, RunInfo
from .parts import PartDone, Work, make_part, make_set, save_work
from .publish import StagedFolder
from .run import Run, Slices
from .workers import WorkerPool
from .writer import slices_hash

MANIFEST = "manifest.json"
_PART_BYTES = 256 << 20
_BATCH_BYTES_MIN = 64 << 10
_JOBS_MAX = 64


def convert(
    slices: Run | Slices,
    to: str,
    out: str | os.PathLike[str],
    *,
    info: RunInfo | None = None,
    options: Options | None = None,
    jobs: int | None = None,
    memory: int = 1 << 30,
    part_bytes: int = _PART_BYTES,
    verify: bool = True,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Writes the slices into the new folder `out` in format `to` (formats.FORMATS), and returns its manifest.

    jobs: worker processes; None: one per CPU. memory: bytes for the slices that all workers hold at once, beside their
    programs. verify: reads each part back and compares every byte with the run. progress: a bar on stderr; None: if
    that is a terminal. A run without slices becomes one empty part.
    Errors: ConvertError, FormatError, MissingPackageError, OSError; after an error `out` does not exist.
    """
    formats.load(to)
    if not len(slices) and not isinstance(slices, Run):
        raise ConvertError("no slice to convert: the selection is empty")
    if info is None:
        info = info_of(slices)
    jobs = max(1, min(jobs or len(os.sched_getaffinity(0)), _JOBS_MAX))
    kind = formats.FORMATS[to]
    batch_bytes = max(_BATCH_BYTES_MIN, memory // (jobs * kind.copies))
    parts = _parts(slices, min(part_bytes, batch_bytes) if kind.whole_part else part_bytes)
    jobs = min(jobs, len(parts))
    with _named(out), StagedFolder(out) as folder, _Bar(slices.nbytes, progress) as bar, WorkerPool(jobs) as pool:
        save_work(folder.scratch, Work(folder.path, to, info, options or Options(), batch_bytes, verify), slices)
        tasks = [(make_part, (folder.scratch, number, *part)) for number, part in enumerate(parts)]
        done: list[PartDone] = pool.run(tasks, bar.advance)
        names, extents = [part.name for part in done], [part.extents for part in done]
        pool.run([(make_set, (folder.scratch, names, extents))], bar.advance)
        manifest = _manifest(slices, to, info, done, verify)
        with open(os.path.join(folder.path, MANIFEST), "x", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
            file.write("\n")
        folder.commit()
    return manifest


@contextmanager
def _named(out: str | os.PathLike[str]) -> Iterator[None]:
    """Names the conversion in errors of the system that name no file, such as a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None and not isinstance(error, WeirError):
            error.filename = os.fspath(out)
        raise


def _parts(slices: Slices, nbytes: int) -> list[tuple[int, int]]:
    """Returns the first slice of each part, and the end behind its last one."""
    begin = 0
    found = []
    for unit in slices.units(nbytes):
        found.append((begin, begin + len(unit)))
        begin += len(unit)
    return found or [(0, 0)]


def info_of(slices: Run | Slices) -> RunInfo:
    """Returns the description of the run for every part."""
    words = {"statuses": json.dumps(STATUS), "reasons": json.dumps(REASON), "decisions": json.dumps(DECISION)}
    if not isinstance(slices, Run):
        return RunInfo(slices[0].run, "", "", "", words)
    summary = json.dumps(slices.summary) if slices.summary else ""
    return RunInfo(slices.number, slices.farm, slices.record, summary, words)


def _manifest(slices: Slices, to: str, info: RunInfo, done: list[PartDone], verify: bool) -> dict[str, Any]:
    damaged = [place for part in done for place in part.damaged]
    return {
        "format": to,
        "run": info.run,
        "farm": info.farm,
        "slices": len(slices),
        "slices_hash": f"{slices_hash(slices.ids):016x}",
        "verified": verify,
        "damaged_fragments": [{"slice": str(one), "source": source} for one, source in damaged],
        "parts": [
            {"file": part.name, **{column: sum(rows) for column, rows in _rows(part.extents).items()}} for part in done
        ],
    }


def _rows(extents: list[Extent]) -> dict[str, list[int]]:
    return {column.name: [getattr(one, column.name) for one in extents] for column in fields(Extent)}


class _Bar:
    """A progress bar over bytes; nothing where none is wanted."""

    def __init__(self, total: int, wanted: bool | None) -> None:
        shown = sys.stderr.isatty() if wanted is None else wanted
        self._bar = (
            need("tqdm", "a progress bar").tqdm(total=total, unit="B", unit_scale=True, desc="convert")
            if shown
            else None
        )

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, nbytes: int) -> None:
        if self._bar is not None:
            self._bar.update(nbytes)
