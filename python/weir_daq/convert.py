"""Converts a run: workers write parts, compare them with the run, and one rename publishes the set."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, fields
from typing import Any, Callable

from . import formats
from ._packages import need
from ._tables import DECISION, REASON, STATUS
from .batches import Batch, batch_of
from .errors import ConvertError
from .formats import Extent, Options, RunInfo
from .publish import StagedFolder
from .record import CHECKSUMMED, KEPT, Slice, crc32c, parse_slice
from .run import Run, Slices
from .writer import slices_hash

MANIFEST = "manifest.json"
_PART_BYTES = 256 << 20
_BATCH_BYTES_MIN = 64 << 10


@dataclass(frozen=True)
class PartDone:
    """A worker's account of a finished part."""

    name: str
    extents: list[Extent]
    read_bytes: int
    damaged: list[tuple[int, int]]  # slice and source whose bytes do not match their checksum in the run


@dataclass(frozen=True)
class _Job:
    slices: Slices
    path: str
    to: str
    info: RunInfo
    options: Options
    batch_bytes: int
    verify: bool


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

    jobs: worker processes; None: one per CPU; 1: none, this process converts. memory: bytes for the slices that all
    workers hold at once, beside their programs. verify: reads each part back
    and compares every byte with the run. progress: a bar on stderr; None: if that is a terminal.
    Errors: ConvertError, FormatError, MissingPackageError; after an error `out` does not exist.
    """
    formats.load(to)
    if not len(slices):
        raise ConvertError("no slice to convert: the selection is empty")
    if info is None:
        info = info_of(slices)
    jobs = min(jobs or len(os.sched_getaffinity(0)), 64)
    kind = formats.FORMATS[to]
    batch_bytes = max(_BATCH_BYTES_MIN, memory // (jobs * kind.copies))
    units = slices.units(min(part_bytes, batch_bytes) if kind.whole_part else part_bytes)
    jobs = min(jobs, len(units)) if jobs > 1 else 1
    with StagedFolder(out) as folder:
        work = [
            _Job(unit, os.path.join(folder.path, f"part-{number:05d}{kind.suffix}"), to, info,
                 options or Options(), batch_bytes, verify)
            for number, unit in enumerate(units)
        ]  # fmt: skip
        done = _run_jobs(work, jobs, progress)
        done.sort(key=lambda part: part.name)
        names = [part.name for part in done]
        formats.load(to).finish_set(folder.path, names, [part.extents for part in done], info)
        manifest = _manifest(slices, to, info, done, verify)
        with open(os.path.join(folder.path, MANIFEST), "x", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
            file.write("\n")
        folder.commit()
    return manifest


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


# ---- workers


def limit_allocators() -> None:
    """Has Arrow use the C library's allocator: its own keep freed memory, beyond a conversion's bound.

    Requires: called before pyarrow is imported.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def _begin_worker(parent: int) -> None:
    limit_allocators()
    # The workers of a killed conversion end with it, also where it was killed before this line.
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the workers


def _run_jobs(work: list[_Job], jobs: int, progress: bool | None) -> list[PartDone]:
    with _Bar(sum(job.slices.nbytes for job in work), progress) as bar:
        if jobs == 1:
            done: list[PartDone] = []
            for job in work:
                done.append(_write_part(job))
                bar.advance(done[-1].read_bytes)
            return done
        # Started afresh: a fork would share the threads and locks of the formats' libraries.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin_worker, initargs=(os.getpid(),))
        try:
            return _collect([pool.submit(_write_part, job) for job in work], bar.advance)
        except BrokenProcessPool:
            raise ConvertError("a worker died, perhaps for lack of memory: give a smaller --memory or --jobs") from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _collect(futures: list[Future[PartDone]], advance: Callable[[int], None]) -> list[PartDone]:
    done = []
    for future in as_completed(futures):
        done.append(future.result())
        advance(done[-1].read_bytes)
    return done


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


def _batches(slices: Slices, nbytes: int) -> Iterator[list[Slice]]:
    taken: list[Slice] = []
    size = 0
    for one in slices:
        if taken and size + len(one.record) > nbytes:
            yield taken
            taken, size = [], 0
        taken.append(parse_slice(one.record, check=True))
        size += len(one.record)
    if taken:
        yield taken


def _write_part(job: _Job) -> PartDone:
    module = formats.load(job.to)
    writer = module.open_part(job.path, job.info, job.options)
    extents, damaged = [], []
    for taken in _batches(job.slices, job.batch_bytes):
        damaged += [(one.id, source) for one in taken for source in _damaged_sources(one)]
        batch = batch_of(taken)
        writer.write(batch)
        extents.append(Extent.of(batch))
    writer.close()
    if job.verify:
        _compare(job, module, extents)
    return PartDone(os.path.basename(job.path), extents, job.slices.nbytes, damaged)


def _damaged_sources(one: Slice) -> list[int]:
    both = KEPT | CHECKSUMMED
    lines = one.table[(one.table["flags"] & both) == both]
    columns = (lines[name].tolist() for name in ("source", "offset", "stored", "stored_crc32c"))
    return [
        source
        for source, offset, stored, wanted in zip(*columns)
        if crc32c(one.record[offset : offset + stored]) != wanted
    ]


def _compare(job: _Job, module: Any, extents: list[Extent]) -> None:
    read: Iterator[Batch] = module.read_part(job.path, extents, job.options)
    for taken in _batches(job.slices, job.batch_bytes):
        wrong = batch_of(taken).difference(next(read))
        if wrong:
            raise ConvertError(
                f"{os.path.basename(job.path)}: slices {taken[0].id} to {taken[-1].id}: column '{wrong}' reads back "
                "differently: nothing was published"
            )
