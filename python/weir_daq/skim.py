"""`merge` and `skim`: some slices of runs as one new run file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from typing import Any

import numpy as np

from .errors import ConvertError
from .record import KEPT, TABLE, Slice, crc32c, parse_slice
from .run import FILE_NAME, Run, Slices
from .writer import RunFileWriter

_HEAD_BYTES = 96
_LENGTH_AT, _CRC_BYTES = 8, 4


def write_slices(run: Run, slices: Slices, out: str | os.PathLike[str], sources: Iterable[int] = ()) -> dict[str, Any]:
    """Writes slices of `run` into the new run file `out`; returns {"slices", "bytes"}.

    sources: the sources whose bytes are kept; the others stay in the table without their bytes. None: all.
    Errors: ConvertError if `out` exists; FormatError.
    """
    wanted = np.fromiter(sources, np.uint32)
    written = 0
    try:
        writer, sequence = _names(out)
        with RunFileWriter(
            out, run=run.number, writer=writer, sequence=sequence, farm=run.farm, record=run.record.encode()
        ) as file:
            for one in slices:
                one = keep_sources(one, wanted) if len(wanted) else one
                file.add(one)
                written += len(one.record)
    except FileExistsError as error:
        raise ConvertError(str(error)) from None
    return {"slices": len(slices), "bytes": written}


def accepted_ids(recording: str, plugin: str, parameters: Iterable[str] = ()) -> Any:
    """Returns the ids of the slices of a run's folder or file that the filter plugin accepts, by `weir filter try`.

    plugin: a path or the name of an installed one. parameters: NAME=VALUE each.
    Errors: ConvertError with the command's message: the plugin cannot be used, or failed on a slice.
    """
    command = os.environ.get("WEIR_COMMAND") or shutil.which("weir")
    if command is None:
        raise ConvertError("no weir on PATH: --filter runs it to try the plugin")
    words = [command, "filter", "try", plugin, recording, "--json", "--list"]
    for parameter in parameters:
        words += ["--set", parameter]
    accepted = []
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors) as process:
            assert process.stdout is not None
            for line in process.stdout:
                outcome = json.loads(line)
                if outcome.get("verdict") == "accept":
                    accepted.append(int(outcome["slice"]))
        if process.returncode != 0:
            errors.seek(0)
            text = errors.read().decode(errors="replace").strip()
            raise ConvertError(f"filter {plugin}: {text or 'it failed on a slice'}: see {' '.join(words[:5])}")
    return np.unique(np.array(accepted, np.uint64))


def _names(out: str | os.PathLike[str]) -> tuple[str, int]:
    """Returns writer and sequence number for the file's header: those of its name, or the name itself and 0."""
    name = os.path.basename(os.fspath(out))
    found = FILE_NAME.fullmatch(name)
    return (found[2], int(found[3])) if found else (os.path.splitext(name)[0], 0)


def keep_sources(one: Slice, wanted: Any) -> Slice:
    """Returns the slice with the bytes of these sources only."""
    keep = np.isin(one.table["source"], wanted) & (one.table["flags"] & KEPT != 0)
    record = bytearray(one.record[: one._meta])
    pieces = [one.record[at : at + length] for at, length in one.table[["offset", "stored"]][keep].tolist()]
    table = np.frombuffer(record, TABLE, len(one.table), _HEAD_BYTES)
    table["flags"][~keep] &= np.uint16(0xFFFF & ~KEPT)
    table["stored"][~keep] = 0
    ends = np.cumsum(table["stored"], dtype=np.uint64) + np.uint64(one._meta)
    table["offset"] = ends - table["stored"]
    length = one._meta + sum(map(len, pieces))
    record[_LENGTH_AT : _LENGTH_AT + 8] = length.to_bytes(8, "little")
    record[:_CRC_BYTES] = crc32c(memoryview(record)[_CRC_BYTES:]).to_bytes(4, "little")
    return parse_slice(b"".join([bytes(record), *pieces]))
