"""Shared parts of the tests: paths of the tree, skips for ctest, runs to read."""

import json
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GOLDEN = os.path.join(ROOT, "libs/records/storage/tests/golden/run_file_v1.weir")
sys.path.insert(0, os.path.join(ROOT, "python"))
SKIPPED = 77  # exit status


def require(*modules):
    """Ends the test program as skipped if one of the modules is not installed."""
    import importlib

    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError:
            print(f"SKIPPED: {sys.executable} has no {module}", flush=True)
            sys.exit(SKIPPED)


def main():
    """Runs the tests; a skip among them counts as one and hides no failure."""
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    sys.exit(1 if not result.wasSuccessful() else SKIPPED if result.skipped else 0)


def make_record(slice_id, fragments, *, run=7, attempt=0, epoch=1, flags=0, time_ns=0, decision=0, streams=1,
                trigger=b"", result=b"", events=()):
    """Returns the bytes of a slice record. fragments: (source, bytes or a missing reason's number) each."""
    import struct

    from weir_daq import crc32c

    meta = 96 + 32 * len(fragments) + 16 * len(events) + len(trigger) + len(result) + sum(len(e) for _, e in events)
    meta = (meta + 7) // 8 * 8
    table, payload, offset = b"", b"", meta
    for source, content in fragments:
        if isinstance(content, int):
            table += struct.pack("<IBBHQIIII", source, 1, content, 0, offset, 0, 0, 0, 0)
            continue
        crc = crc32c(content)
        table += struct.pack("<IBBHQIIII", source, 0, 0, 3, offset, len(content), len(content), crc, crc)
        payload += content
        offset += len(content)
    at = 96 + len(table) + 16 * len(events) + len(trigger) + len(result)
    lines, tail = b"", b""
    for event, content in events:
        lines += struct.pack("<QII", event, at + len(tail), len(content))
        tail += content
    head = struct.pack("<HHQIIQIHHqqIBBHQIIIIQ", 1, flags, meta + len(payload), meta, len(fragments), slice_id, run,
                       attempt, epoch, time_ns, 10_000_000, 3, decision, 0, 2, streams, 1, len(trigger), len(result),
                       len(events), 0)
    rest = (head + table + lines + trigger + result + tail).ljust(meta - 4, b"\0")
    return crc32c(rest).to_bytes(4, "little") + rest + payload


def random_bytes(seed, length):
    import random

    return random.Random(seed).randbytes(length)


def random_record(slice_id, sources=5, size=200, **values):
    """A slice with fragments of different sizes, one of them empty and one missing, payloads and events."""
    fragments = [(10 * n + 1, random_bytes(slice_id * 1000 + n, (size * (n + 1)) // sources)) for n in range(sources)]
    fragments += [(9000, b""), (9001, 12)]
    values.setdefault("time_ns", 1_700_000_000_000_000_000 + slice_id * 10_000_000)
    values.setdefault("trigger", random_bytes(slice_id, slice_id % 7))
    values.setdefault("result", random_bytes(slice_id, slice_id % 5))
    values.setdefault("events", [(slice_id << 16 | n, random_bytes(n, 3 * n)) for n in range(slice_id % 4)])
    return make_record(slice_id, fragments, **values)


def write_run(folder, files, run=7, record=b"farm: test\n"):
    """Writes a run. files: for each file (writer, sequence, [records], [dead (id, attempt, epoch, sequence)])."""
    import numpy as np

    from weir_daq import parse_slice
    from weir_daq.files import DEAD
    from weir_daq.writer import RunFileWriter

    paths = []
    for writer, sequence, records, dead in files:
        path = os.path.join(folder, f"run-{run:06d}-{writer}-{sequence:04d}.weir")
        with RunFileWriter(path, run=run, writer=writer, farm="test", record=record, sequence=sequence) as file:
            for one in records:
                file.add(parse_slice(one, check=True))
            file.mark_dead(np.array(dead, DEAD))
        paths.append(path)
    return paths


class Folder(unittest.TestCase):
    """Tests with a run in a scratch folder."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def run_of(self, slices=60, size=3000, **values):
        records = [random_record(n, size=size, **values) for n in range(slices)]
        write_run(self.folder, [("w-0", 0, records[::2], []), ("w-1", 0, records[1::2], [])], record=self.farm())
        with open(os.path.join(self.folder, "run-000007-end.json"), "w", encoding="utf-8") as file:
            json.dump({"run": 7, "stored": slices}, file)
        from weir_daq import Run

        return Run(self.folder)

    def farm(self):
        # Longer than HDF5's oldest layout takes as an attribute.
        return b"farm: test\n" + b"# a comment that makes the farm file long\n" * 3000

    def out(self, name="out"):
        return os.path.join(self.folder, name)
