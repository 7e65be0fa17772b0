"""All files of a run as one sequence of slices."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Any, Union, overload

import numpy as np

from ._tables import DECISION
from .errors import FormatError, NoRunError, NoSliceError, WeirError
from .files import RECORD_HEAD, RunFile
from .histograms import Histograms, read_histograms
from .hits import Array, hits_of
from .record import STREAM_DEBUG, STREAM_DEFAULT, Slice

FILE_NAME = re.compile(r"run-(\d{6,})-(.+)-(\d{4,})\.weir(\.part)?")
_DECISION_AT = RECORD_HEAD.size + 60  # in a slice record, from its head on
_PART = ".part"  # behind the name of a file that is not closed
_OPEN_FILES = 256  # maps that a process keeps

# One slice of a selection: which file has it, and where.
PLACE = np.dtype(
    [
        ("id", "<u8"),
        ("time_ns", "<i8"),
        ("streams", "<u8"),
        ("offset", "<u8"),
        ("length", "<u8"),
        ("file", "<u4"),
        ("flags", "<u2"),
        ("epoch", "<u2"),
    ]
)

Stream = Union[str, int]
_STREAMS = {"default": STREAM_DEFAULT, "debug": STREAM_DEBUG}


class RunWarning(UserWarning):
    """A run that was read, but not as a closed run is."""


@lru_cache(maxsize=_OPEN_FILES)
def _mapped(path: str, *identity: int) -> RunFile:
    return RunFile(path)


def _open(path: str) -> RunFile:
    """Returns the file, mapped once while it stays the same; a file that was closed since has lost its `.part`."""
    if path.endswith(_PART) and not os.path.exists(path):
        path = path[: -len(_PART)]
    found = os.stat(path)
    return _mapped(path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


class Slices:
    """A selection of slices: a sequence that reads a slice when it is asked for.

    It holds file names and places, no bytes: it pickles, and a process that unpickles it maps the files itself.
    """

    def __init__(self, files: list[str], places: Array) -> None:
        self.files = files
        self.places = places  # of PLACE

    def __reduce__(self) -> tuple[Any, ...]:
        # Only the files that these slices are in.
        used, numbers = np.unique(self.places["file"], return_inverse=True)
        places = self.places.copy()
        places["file"] = numbers
        return Slices, ([self.files[number] for number in used], places)

    def __repr__(self) -> str:
        return f"<{len(self)} slices of {len(self.files)} files, {self.nbytes} bytes>"

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, at: int) -> Slice: ...
    @overload
    def __getitem__(self, at: slice) -> Slices: ...
    def __getitem__(self, at: int | slice) -> Slice | Slices:
        if isinstance(at, slice):
            return self._of(self.places[at])
        place = self.places[at]
        return _open(self.files[place["file"]]).slice_at(int(place["offset"]), int(place["length"]))

    def __iter__(self) -> Iterator[Slice]:
        opened: dict[int, RunFile] = {}
        columns = (self.places[name].tolist() for name in ("file", "offset", "length"))
        for number, offset, length in zip(*columns):
            file = opened.get(number)
            if file is None:
                file = opened[number] = _open(self.files[number])
            yield file.slice_at(offset, length)

    @property
    def ids(self) -> Array:
        return self.places["id"]

    @property
    def times_ns(self) -> Array:
        """Trigger times since 1970-01-01T00:00Z."""
        return self.places["time_ns"]

    @property
    def nbytes(self) -> int:
        """Bytes of all records."""
        return int(self.places["length"].sum())

    def slice(self, slice_id: int) -> Slice:
        """Returns the slice with this id. Raises NoSliceError."""
        found = np.flatnonzero(self.places["id"] == np.uint64(slice_id))
        if not len(found):
            raise NoSliceError(f"no slice {slice_id} among these {len(self)}")
        return self[int(found[0])]

    def select(
        self,
        *,
        stream: Stream | None = None,
        ids: tuple[int | None, int | None] | Iterable[int] | None = None,
        time_ns: tuple[int | None, int | None] | None = None,
        decision: str | None = None,
        complete: bool | None = None,
    ) -> Slices:
        """Returns the slices that meet every condition.

        stream: "default", "debug", or bits of `Slice.streams`. ids: (first, last), inclusive, None for no bound; or a
        list or array of ids. time_ns: (from, to), `to` exclusive. decision: a word of DECISION.
        """
        places = self.places
        if stream is not None:
            places = places[(places["streams"] & np.uint64(_stream_bits(stream))) != 0]
        if ids is not None:
            places = places[_within(places["id"], ids)]
        if time_ns is not None:
            low, high = time_ns
            times = places["time_ns"]
            keep = np.ones(len(places), bool) if low is None else times >= low
            places = places[keep if high is None else keep & (times < high)]
        if complete is not None:
            places = places[((places["flags"] & 1) == 0) == complete]
        if decision is not None:
            places = places[self._decisions(places) == _decision_number(decision)]
        return self._of(places)

    def units(self, nbytes: int = 64_000_000) -> list[Slices]:
        """Divides the slices into runs of about `nbytes` each: work for multiprocessing, Dask or HTCondor."""
        if nbytes < 1:
            raise ValueError("units need at least 1 byte each")
        ends = np.cumsum(self.places["length"], dtype=np.uint64)
        cuts = np.flatnonzero(np.diff(ends // np.uint64(nbytes))) + 1
        return [self._of(part) for part in np.split(self.places, cuts) if len(part)]

    def hits(self) -> Any:
        """Returns every slice's {"source", "hits"} as one Awkward array: slices * sources * hits. Reads them all."""
        return hits_of(self)

    def _of(self, places: Array) -> Slices:
        return Slices(self.files, places)

    def _decisions(self, places: Array) -> Array:
        opened = [_open(path).data for path in self.files]
        numbers = (
            opened[file][offset + _DECISION_AT]
            for file, offset in zip(places["file"].tolist(), places["offset"].tolist())
        )
        return np.fromiter(numbers, np.uint8, len(places))


def _within(values: Array, wanted: tuple[int | None, int | None] | Iterable[int]) -> Array:
    if isinstance(wanted, tuple) and len(wanted) == 2:
        low, high = wanted
        if high is not None and high < 0:
            return np.zeros(len(values), bool)
        keep = np.ones(len(values), bool) if low is None or low < 0 else values >= np.uint64(low)
        return keep if high is None else keep & (values <= np.uint64(high))
    return np.isin(values, np.fromiter((one for one in wanted if one >= 0), np.uint64))


def _stream_bits(stream: Stream) -> int:
    if isinstance(stream, int):
        return stream
    if stream not in _STREAMS:
        raise WeirError(f"no stream '{stream}': one of {', '.join(_STREAMS)}, or its bit as a number")
    return _STREAMS[stream]


def _decision_number(word: str) -> int:
    if word not in DECISION:
        raise WeirError(f"no decision '{word}': one of {', '.join(DECISION)}")
    return DECISION.index(word)


class Run(Slices):
    """The slices of a run that count, by id: dead copies are left out.

    folder: where the run's files are (`run.out` of the farm file), or one run file, as `weir file skim` and `weir tap`
    write. run: its number; not needed if the folder has one run. Files that were not closed are read record by record,
    with a RunWarning.
    Errors: NoRunError, FormatError.
    """

    def __init__(self, folder: str | os.PathLike[str], run: int | None = None) -> None:
        self.folder = os.fspath(folder)
        if os.path.isfile(self.folder):
            paths = [os.path.abspath(self.folder)]
            self.folder = os.path.dirname(paths[0])
            self.number = _open(paths[0]).run
        else:
            self.number, paths = _files_of(self.folder, run)
        self.run_files = [_open(path) for path in paths]
        super().__init__(paths, _live_places(self.run_files))

    def __repr__(self) -> str:
        return f"<run {self.number} in {self.folder}: {len(self)} slices, {self.nbytes} bytes>"

    @property
    def farm(self) -> str:
        """The farm's name."""
        return self.run_files[0].farm

    @cached_property
    def record(self) -> str:
        """The farm file as it ran: the begin-of-run record of the first file that has a sound one, YAML.

        A RunWarning names each damaged record before it.
        """
        for file in self.run_files:
            try:
                if text := file.begin_of_run.decode("utf-8", "replace"):
                    return text
            except FormatError as error:
                warnings.warn(RunWarning(str(error)), stacklevel=2)
        return ""

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `run-NNNNNN-end.json` says (docs/summary.md); empty if the folder has none."""
        try:
            with open(os.path.join(self.folder, f"run-{self.number:06d}-end.json"), encoding="utf-8") as file:
                found: dict[str, Any] = json.load(file)
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise FormatError(f"{self.folder}: the summary of run {self.number} is not JSON: {error}") from None
        return found

    @cached_property
    def histograms(self) -> Histograms:
        """The histograms that the filter booked, by name; none if the run has no `run-NNNNNN-histograms.json`."""
        path = os.path.join(self.folder, f"run-{self.number:06d}-histograms.json")
        if os.path.exists(path):
            return read_histograms(path)
        empty = Histograms()
        empty.incomplete = []
        return empty


def _files_of(folder: str, run: int | None) -> tuple[int, list[str]]:
    found: dict[int, list[tuple[str, int, str]]] = {}
    try:
        names = os.listdir(folder)
    except OSError as error:
        raise NoRunError(f"{folder}: {error.strerror}: give the folder that `run.out` named") from None
    for name in sorted(names):
        match = FILE_NAME.fullmatch(name)
        if match and not (match[4] and name[: -len(_PART)] in names):
            place = (match[2], int(match[3]), os.path.abspath(os.path.join(folder, name)))
            found.setdefault(int(match[1]), []).append(place)
    if run is None and len(found) == 1:
        run = next(iter(found))
    if run is None or run not in found:
        if not found:
            raise NoRunError(f"{folder}: has no run file: give the folder that `run.out` named")
        numbers = ", ".join(str(one) for one in sorted(found))
        if run is None:
            raise NoRunError(f"{folder}: has runs {numbers}: choose one with --run N, or Run(folder, N)")
        raise NoRunError(f"{folder}: no run {run}: it has {numbers}")
    return run, [path for _, _, path in sorted(found[run])]


def _live_places(files: list[RunFile]) -> Array:
    """Returns the copies that count, by id: FORMAT.md, "Which copy of a slice counts"."""
    parts, sequences, attempts = [], [], []
    for number, file in enumerate(files):
        if file.footer is None:
            _warn_unclosed(file)
        index = file.index
        live = index[(index["dead"] & 1) == 0]
        part = np.empty(len(live), PLACE)
        for name in ("id", "time_ns", "streams", "offset", "length", "flags", "epoch"):
            part[name] = live[name]
        part["file"] = number
        parts.append(part)
        attempts.append(live["attempt"])
        sequences.append(np.full(len(live), file.sequence, np.uint32))
    places = np.concatenate(parts)
    dead = np.concatenate([file.dead_copies for file in files])
    if len(dead):
        keys = np.empty(len(places), dead.dtype)
        keys["id"], keys["epoch"] = places["id"], places["epoch"]
        keys["attempt"], keys["sequence"] = np.concatenate(attempts), np.concatenate(sequences)
        places = places[~np.isin(keys.view("V16"), dead.copy().view("V16"))]
    order = np.lexsort((places["offset"], places["file"], -places["epoch"].astype(np.int32), places["id"]))
    places = places[order]
    first = np.ones(len(places), bool)
    first[1:] = places["id"][1:] != places["id"][:-1]
    return places[first]


def _warn_unclosed(file: RunFile) -> None:
    why = "its index is damaged" if file.ended else "it was not closed"
    text = f"{file.path}: {why}: read record by record, and copies that do not count are known only from other files"
    warnings.warn(RunWarning(text), stacklevel=4)
