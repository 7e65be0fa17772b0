"""KM3NeT online files as replay folders: time slices L0, L1 and SN, every byte of their hits as it was sent."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._packages import need
from .errors import FormatError, WeirError
from .publish import StagedFolder
from .record import HIT, Array

TREES = ("L0", "L1", "SN")
GEOMETRY = "detector.detx"

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
    uproot = need("uproot", "importing KM3NeT files")
    if not os.path.exists(path):
        raise WeirError(f"{path}: no such file")
    try:
        file = uproot.open(path)
    except Exception as error:
        raise FormatError(f"{path}: not a ROOT file that uproot opens: {error}") from error
    with file:
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
        "file": name,
        "bytes": offset,
        "fragments": fragments,
    }
