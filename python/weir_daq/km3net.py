"""KM3NeT online files: time slices L0, L1 and SN as replay folders, every byte of their hits as it was sent; the events
of KM3NeT's own trigger, to compare with the clusters of `coincidence`."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._packages import need
from .errors import FormatError, WeirError
from .hits import HIT, Array
from .publish import StagedFolder
from .record import Slice
from .run import Slices

TREES = ("L0", "L1", "SN")
GEOMETRY = "detector.detx"
FRAME_NS = 100_000_000  # length of a time slice

# A vector of super frames is written memberwise: a head of 8 bytes, the number of frames n, then 18 columns of n words
# each, 6 bytes, and all hits, frame after frame. All numbers but those in hits are big-endian.
_COUNT_AT = 8
_COLUMNS_AT = 12
_COLUMNS = 18
_LENGTH, _MODULE, _HITS = 0, 11, 17
_BEFORE_HITS = 6
_FRAME_HEAD_BYTES = 56
_START_HEAD_BYTES = 6  # of the object, before its two words
_FLAG = 1 << 31  # in a slice's seconds
_TICK_NS = 16


# A triggered hit, memberwise behind a head of 10 bytes; HIT's fields as in slices.
TRIGGERED = np.dtype([("module", ">u4"), *HIT.descr, ("head", "V6"), ("mask", ">u8")])
_HITS_HEAD_BYTES = 10
_EVENT_RUN_AT, _EVENT_FRAME_AT = 22, 26  # in an event's header

_CLUSTER_HEAD = struct.Struct("<HHIq")
_CLUSTER_HIT = np.dtype([("module", "<u4"), ("time_ns", "<u4"), ("channel", "u1"), ("tot_ns", "u1"), ("zero", "<u2")])
_Hit = tuple[int, int, int, int]  # module, channel, time, time over threshold
_FIRST_WITH_PLACE = 4  # version of detx whose modules have a position


@dataclass(frozen=True)
class TriggeredEvent:
    """An event of KM3NeT's trigger."""

    frame_index: int
    run: int
    hits: Array  # of TRIGGERED


@dataclass(frozen=True)
class EventComparison:
    """How many hits of an event of KM3NeT's trigger a run of ours has."""

    frame_index: int
    hits: int
    stored: int  # in the slice's fragments
    clustered: int  # in clusters of `coincidence`


@dataclass(frozen=True)
class ClusterComparison:
    """How many hits of a cluster of ours KM3NeT's trigger has in its events."""

    frame_index: int
    hits: int
    in_events: int


@dataclass(frozen=True)
class TimeSlice:
    frame_index: int
    run: int
    utc_s: int
    utc_ns: int
    modules: Array  # ids, ascending
    hits: list[Array]  # of HIT, in the order of the modules


def parse_frames(data: Array) -> tuple[Array, list[Array]]:
    """Returns modules (ascending) and their hits from the bytes of a vector of super frames. Raises FormatError."""
    if len(data) < _COLUMNS_AT:
        raise FormatError(f"a time slice of {len(data)} bytes is too short")
    count = int(data[_COUNT_AT : _COUNT_AT + 4].view(">u4")[0])
    begin = _COLUMNS_AT + _COLUMNS * 4 * count + _BEFORE_HITS
    if count == 0:
        return np.empty(0, np.uint32), []
    if begin > len(data):
        raise FormatError(f"a time slice of {len(data)} bytes cannot hold {count} frames")
    columns = data[_COLUMNS_AT : begin - _BEFORE_HITS].view(">u4").reshape(_COLUMNS, count)
    hits = columns[_HITS].astype(np.int64)
    if (columns[_LENGTH] != _FRAME_HEAD_BYTES + HIT.itemsize * hits).any():
        raise FormatError("a frame's length and its number of hits disagree")
    if begin + HIT.itemsize * int(hits.sum()) != len(data):
        raise FormatError(f"{int(hits.sum())} hits do not fill the {len(data) - begin} bytes behind the frames' heads")
    modules = columns[_MODULE].astype(np.uint32)
    if len(np.unique(modules)) != count:
        raise FormatError("a module has two frames in one time slice")
    all_hits = np.split(data[begin:].view(HIT), np.cumsum(hits)[:-1])
    order = np.argsort(modules, kind="stable")
    return modules[order], [all_hits[at] for at in order]


def parse_start(data: Array) -> tuple[int, int]:
    """Returns seconds and nanoseconds of a slice's start. Raises FormatError."""
    if len(data) != _START_HEAD_BYTES + 8:
        raise FormatError(f"a slice's start of {len(data)} bytes instead of {_START_HEAD_BYTES + 8}")
    seconds, ticks = (int(word) for word in data[_START_HEAD_BYTES:].view(">u4"))
    if ticks * _TICK_NS >= 1_000_000_000:
        raise FormatError(f"a slice's start with {ticks} ticks of {_TICK_NS} ns in its second")
    return seconds & (_FLAG - 1), ticks * _TICK_NS


def _branch(tree: Any, name: str) -> Any:
    found = [branch for branch in tree.itervalues(recursive=True) if branch.name == name]
    if not found:
        raise FormatError(f"{tree.name}: no branch {name}: not a tree of KM3NeT time slices")
    return found[0]


def read_slices(path: str, kind: str | None = None) -> Iterator[TimeSlice]:
    """Yields the time slices of a file that have frames. kind: of TREES; None: the one that has slices.

    Errors: FormatError, WeirError for a file without such slices, MissingPackageError.
    """
    with _opened(path) as file:
        present = [one for one in TREES if f"KM3NET_TIMESLICE_{one}" in file and _entries(file, one)]
        if kind is None and len(present) != 1:
            has = " and ".join(present) or "no time slices"
            raise WeirError(f"{path}: has {has}: " + ("say which with --tree" if present else "nothing to import"))
        kind = kind or present[0]
        if kind not in present:
            raise WeirError(f"{path}: no time slices {kind}: it has {', '.join(present) or 'none'}")
        tree = file[f"KM3NET_TIMESLICE_{kind}"]
        frames = _branch(tree, "vector<KM3NETDAQ::JDAQSuperFrame>")
        index, runs = (_branch(tree, name).array(library="np") for name in ("frame_index", "run"))
        start = _branch(tree, "timeslice_start")
        for entry in range(tree.num_entries):
            modules, hits = parse_frames(np.asarray(frames.debug_array(entry)))
            if not len(modules):
                continue
            seconds, nanoseconds = parse_start(np.asarray(start.debug_array(entry)))
            yield TimeSlice(int(index[entry]), int(runs[entry]), seconds, nanoseconds, modules, hits)


def _opened(path: str) -> Any:
    uproot = need("uproot", "reading KM3NeT files")
    if not os.path.exists(path):
        raise WeirError(f"{path}: no such file")
    try:
        return uproot.open(path)
    except Exception as error:
        raise FormatError(f"{path}: not a ROOT file that uproot opens: {error}") from error


def read_events(path: str) -> Iterator[TriggeredEvent]:
    """Yields the events of KM3NeT's trigger. Errors: as of read_slices()."""
    with _opened(path) as file:
        if "KM3NET_EVENT" not in file:
            raise WeirError(f"{path}: has no events")
        tree = file["KM3NET_EVENT"]
        header = _branch(tree, "KM3NETDAQ::JDAQEventHeader")
        hits = _branch(tree, "triggeredHits")
        for entry in range(tree.num_entries):
            head, data = (np.asarray(branch.debug_array(entry)) for branch in (header, hits))
            count = int(data[_HITS_HEAD_BYTES - 4 : _HITS_HEAD_BYTES].view(">u4")[0])
            if len(data) != _HITS_HEAD_BYTES + count * TRIGGERED.itemsize:
                raise FormatError(f"{path}: event {entry}: {count} hits do not fill {len(data)} bytes")
            run, frame = (int(head[at : at + 4].view(">u4")[0]) for at in (_EVENT_RUN_AT, _EVENT_FRAME_AT))
            yield TriggeredEvent(frame, run, data[_HITS_HEAD_BYTES:].view(TRIGGERED))


def read_delays(path: str) -> dict[int, list[int]]:
    """Returns the delay of each module's channels, as `coincidence` adds it: t0 less the least t0 of the detx file."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = iter([line.split() for line in file if line.strip() and not line.startswith("#")])
    try:
        first = next(lines)
        modules = int(first[1]) if first[1].isdigit() else int(next(row for row in lines if len(row) == 1)[0])
        times = {}
        for _ in range(modules):
            words = next(lines)
            channels = [float(next(lines)[7]) for _ in range(int(words[-1]))]
            if channels:
                times[int(words[0])] = channels
        least = min(min(channels) for channels in times.values())
    except (StopIteration, IndexError, ValueError) as error:
        raise FormatError(f"{path}: not a detx file: {error}") from None
    return {module: [round(time - least) for time in channels] for module, channels in times.items()}


def compare_events(path: str, run: Slices, folder: str) -> list[EventComparison]:
    """Compares the events of `path` with a run that replayed `folder` through `coincidence`, hit by hit.

    Events of frames that the recording does not have are left out. Errors: as of read_slices().
    """
    replayed = _Replayed(run, folder)
    found = []
    for event in read_events(path):
        if event.frame_index not in replayed.frames:
            continue
        wanted = _hits_of(event)
        one = replayed.slice_of(event.frame_index)
        if one is None:
            found.append(EventComparison(event.frame_index, len(wanted), 0, 0))
            continue
        stored = {
            (fragment.source, *hit) for fragment in one.fragments if fragment.kept for hit in fragment.hits().tolist()
        }
        clustered: set[_Hit] = set().union(*replayed.clusters_of(one))
        found.append(
            EventComparison(event.frame_index, len(wanted), len(wanted & stored), len(wanted & clustered))
        )
    return found


def compare_clusters(path: str, run: Slices, folder: str) -> list[ClusterComparison]:
    """Compares each cluster of a run that replayed `folder` with the events of `path` in its frame.

    A frame that was replayed several times counts once. Errors: as of read_slices().
    """
    replayed = _Replayed(run, folder)
    in_events: dict[int, set[_Hit]] = {}
    for event in read_events(path):
        in_events.setdefault(event.frame_index, set()).update(_hits_of(event))
    found = []
    for frame in replayed.frames:
        one = replayed.slice_of(frame)
        if one is not None:
            theirs = in_events.get(frame, set())
            found += [ClusterComparison(frame, len(hits), len(hits & theirs)) for hits in replayed.clusters_of(one)]
    return found


def _hits_of(event: TriggeredEvent) -> set[_Hit]:
    hits: list[_Hit] = event.hits[["module", "channel", "time_ns", "tot_ns"]].tolist()
    return set(hits)


class _Replayed:
    """A run's slices by the recording's frames, and their clusters in the recording's uncalibrated times."""

    def __init__(self, run: Slices, folder: str) -> None:
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
            self.frames: list[int] = sorted(one["slice"] for one in json.load(file)["slices"])
        geometry = os.path.join(folder, GEOMETRY)
        self._delays = read_delays(geometry) if os.path.exists(geometry) else {}
        self._run = run
        numbered = [(at, int(number)) for at, number in enumerate(run.ids)]
        if set(self.frames).issuperset(number for _, number in numbered):  # replayed once, under its own numbers
            self._places = {number: at for at, number in numbered}
        else:  # perhaps several times: its first pass
            self._places = {self.frames[number % len(self.frames)]: at for at, number in reversed(numbered)}

    def slice_of(self, frame: int) -> Slice | None:
        return self._run[self._places[frame]] if frame in self._places else None

    def clusters_of(self, one: Slice) -> list[set[_Hit]]:
        return [self._hits(np.frombuffer(data, _CLUSTER_HIT, offset=_CLUSTER_HEAD.size)) for _, data in one.events]

    def _hits(self, cluster: Array) -> set[_Hit]:
        return {
            (module, channel, time - (self._delays[module][channel] if module in self._delays else 0), tot)
            for module, time, channel, tot, _ in cluster.tolist()
        }


def _entries(file: Any, kind: str) -> int:
    found = file[f"KM3NET_TIMESLICE_{kind}"]
    return int(getattr(found, "num_entries", 0))


def import_file(
    path: str,
    folder: str | os.PathLike[str],
    *,
    tree: str | None = None,
    geometry: str | None = None,
    slices_max: int | None = None,
) -> dict[str, int]:
    """Makes the replay folder `folder` of a file's time slices; returns {"slices", "sources", "hits"}.

    geometry: a detx file, copied as detector.detx. Errors: as of read_slices(); ConvertError if `folder` exists.
    """
    entries: list[dict[str, Any]] = []
    sources: set[int] = set()
    hits = 0
    with StagedFolder(folder) as staged:
        for one in read_slices(path, tree):
            if len(entries) == slices_max:
                break
            entries.append(_write_slice(staged.path, one))
            sources.update(one.modules.tolist())
            hits += sum(map(len, one.hits))
        if not entries:
            raise WeirError(f"{path}: its time slices have no frames: nothing to import")
        with open(os.path.join(staged.path, "index.json"), "x", encoding="utf-8") as file:
            json.dump({"hit_bytes": HIT.itemsize, "slices": entries}, file, indent=1)
            file.write("\n")
        if geometry is not None:
            shutil.copyfile(geometry, os.path.join(staged.path, GEOMETRY))
        staged.commit()
    return {"slices": len(entries), "sources": len(sources), "hits": hits}


def _write_slice(folder: str, one: TimeSlice) -> dict[str, Any]:
    name = f"slice-{one.frame_index}.bin"
    offset = 0
    fragments = []
    with open(os.path.join(folder, name), "xb") as file:
        for module, hits in zip(one.modules.tolist(), one.hits):
            fragments.append({"source": module, "offset": offset, "hits": len(hits)})
            file.write(hits.tobytes())
            offset += hits.nbytes
    return {
        "slice": one.frame_index,
        "run": one.run,
        "utc_s": one.utc_s,
        "utc_ns": one.utc_ns,
        "duration_ns": FRAME_NS,
        "file": name,
        "bytes": offset,
        "fragments": fragments,
    }
