"""One part of a conversion: written from a run's slices, put on disk, read back and compared with the run."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from . import formats
from .batches import Batch, batch_of, with_hits
from .errors import ConvertError
from .formats import Extent, Options, RunInfo
from .publish import sync
from .record import CHECKSUMMED, KEPT, Slice, crc32c, parse_slice
from .run import PLACE, Slices

Advance = Callable[[int], object]

_WORK, _PLACES = "work", "places"


@dataclass(frozen=True)
class PartDone:
    """A worker's account of a finished part."""

    name: str
    extents: list[Extent]
    damaged: list[tuple[int, int]]  # slice and source whose bytes do not match their checksum in the run


@dataclass(frozen=True)
class Work:
    """The settings that all parts of a conversion share."""

    folder: str
    to: str
    info: RunInfo
    options: Options
    batch_bytes: int
    verify: bool


def save_work(scratch: str, work: Work, slices: Slices) -> None:
    """Writes what workers need into the folder `scratch`: a task names a range of slices, and has a few bytes."""
    with open(os.path.join(scratch, _PLACES), "xb") as places:
        places.write(slices.places.tobytes())
    with open(os.path.join(scratch, _WORK), "xb") as file:
        pickle.dump((work, slices.files), file)


def _load_work(scratch: str) -> tuple[Work, Slices]:
    with open(os.path.join(scratch, _WORK), "rb") as file:
        work, files = pickle.load(file)
    path = os.path.join(scratch, _PLACES)
    return work, Slices(files, np.memmap(path, PLACE, "r") if os.path.getsize(path) else np.empty(0, PLACE))


def make_part(advance: Advance, scratch: str, number: int, begin: int, end: int) -> PartDone:
    """Writes the part of the slices from `begin` to before `end`. A task of workers.WorkerPool."""
    work, slices = _load_work(scratch)
    return write_part(advance, work, slices[begin:end], number)


def make_set(advance: Advance, scratch: str, names: list[str], extents: list[list[Extent]]) -> None:
    """Completes the set of parts. A task of workers.WorkerPool."""
    work, _ = _load_work(scratch)
    formats.load(work.to).finish_set(work.folder, names, extents, work.info)
    advance(0)


def write_part(advance: Advance, work: Work, slices: Slices, number: int) -> PartDone:
    """Writes a part and compares it. Errors: ConvertError if it reads back differently; of the format."""
    path = os.path.join(work.folder, f"part-{number:05d}{formats.FORMATS[work.to].suffix}")
    try:
        return _write_part(advance, work, slices, path)
    except OSError as error:
        if error.filename is None:
            error.filename = path
        raise


def _write_part(advance: Advance, work: Work, slices: Slices, path: str) -> PartDone:
    module = formats.load(work.to)
    writer = module.open_part(path, work.info, work.options)
    extents, damaged = [], []
    for taken in _batches(slices, work.batch_bytes):
        damaged += [(one.id, source) for one in taken for source in _damaged_sources(one)]
        batch = _batch(taken, work.options)
        writer.write(batch)
        extents.append(Extent.of(batch))
        advance(sum(len(one.record) for one in taken))
    writer.close()
    sync(path)
    if work.verify:
        _compare(advance, work, path, slices, module.read_part(path, extents, work.options))
    return PartDone(os.path.basename(path), extents, damaged)


def _batches(slices: Slices, nbytes: int) -> Iterator[list[Slice]]:
    """Yields the slices in lists of about `nbytes`; one empty list if there are none."""
    taken: list[Slice] = []
    size = 0
    for one in slices:
        if taken and size + len(one.record) > nbytes:
            yield taken
            taken, size = [], 0
        taken.append(parse_slice(one.record, check=True))
        size += len(one.record)
    if taken or not len(slices):
        yield taken


def _batch(taken: list[Slice], options: Options) -> Batch:
    batch = batch_of(taken)
    return with_hits(batch) if options.hits else batch


def _damaged_sources(one: Slice) -> list[int]:
    both = KEPT | CHECKSUMMED
    lines = one.table[(one.table["flags"] & both) == both]
    columns = (lines[name].tolist() for name in ("source", "offset", "stored", "stored_crc32c"))
    return [
        source
        for source, offset, stored, wanted in zip(*columns)
        if crc32c(one.record[offset : offset + stored]) != wanted
    ]


def _compare(advance: Advance, work: Work, path: str, slices: Slices, read: Iterator[Batch]) -> None:
    for taken in _batches(slices, work.batch_bytes):
        wrong = _batch(taken, work.options).difference(next(read))
        if wrong:
            raise ConvertError(
                f"{os.path.basename(path)}: slices {taken[0].id} to {taken[-1].id}: column '{wrong}' reads back "
                "differently: nothing was published"
            )
        advance(0)
