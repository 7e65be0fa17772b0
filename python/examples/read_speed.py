#!/usr/bin/env python3
"""Measures how fast slices are read, on files that it makes in a scratch folder: read_speed.py [MEGABYTES]."""

import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "tests"))

import numpy as np
from support import make_record, write_run

import weir_daq


def measure(total, fragments, size):
    one = [(source, bytes(size)) for source in range(fragments)]
    with tempfile.TemporaryDirectory() as folder:
        records = [make_record(number, one) for number in range(total // (fragments * size))]
        write_run(folder, [("writer-0", 0, records, [])])
        del records
        run = weir_daq.Run(folder)
        best = 0.0
        for _ in range(3):
            begin = time.process_time()
            for found in run:
                np.add.reduce(found.payload[: len(found.payload) // 8 * 8].view("<u8"))
            best = max(best, run.nbytes / (time.process_time() - begin))
    print(f"{len(run)} slices of {fragments} x {size} B: {best / 1e9:.2f} GB/s of CPU time, every byte summed")


def main():
    total = int(sys.argv[1]) * 1_000_000 if len(sys.argv) > 1 else 400_000_000
    measure(total, 1, 1_000_000)
    measure(total, 16, 4096)
    measure(total // 4, 4, 1000)


if __name__ == "__main__":
    main()
