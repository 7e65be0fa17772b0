"""Accepts every slice, and misbehaves over every n-th, or leaks over each. Parameters: what, every (1000), batches."""

import ctypes
import os
import sys
import time

import numpy as np
from weir_daq.filters import accept

_kept = []
_lost = []


def _misbehave(what, slice):
    if what == "crash":
        ctypes.memset(8, 1, 1)
    if what == "abort":
        os.abort()
    if what == "exit":
        sys.exit(0)
    if what == "_exit":
        os._exit(0)
    if what == "hang":
        while True:
            time.sleep(3600)
    if what == "spin":
        while True:
            pass
    if what == "memory":
        taken = []
        while True:
            taken.append(np.ones(1 << 20))
    if what == "wild":
        for fragment in slice:
            ctypes.memset(fragment.data.ctypes.data, 0xEE, len(fragment))
    if what == "write":
        slice.fragments[0].data[0] = 1
    if what == "throw":
        raise RuntimeError(f"slice {slice.id}")
    if what == "keep":
        _kept.append((slice.fragments[0].data[::2], slice.fragments[0].data[::2].tobytes()))
    if what == "fork" and os.fork() == 0:
        while True:
            time.sleep(3600)
    if what == "overflow":
        return accept(events=[(1, bytes(1 << 20))] * 100)
    if what == "nothing":
        return None
    return accept()


class Filter:
    """crashes, hangs and keeps views"""

    def __init__(self, setup):
        self.what = setup.parameter("what", "none")
        self.every = setup.parameter("every", 1000, 1)
        self.processed = setup.counter("processed")
        self.longest = 0
        if setup.parameter("batches", False):
            self.process_many = self._process_many

    def process(self, slice):
        self.processed.add()
        if self.what == "leak":
            _lost.append(np.ones(1 << 17))  # 1 MiB
        for view, bytes_then in _kept:
            if view.tobytes() != bytes_then:
                raise RuntimeError("bytes under a kept view have changed")
        if slice.id % self.every == 0 and slice.id > 0:
            return _misbehave(self.what, slice)
        return accept()

    def _process_many(self, slices):
        self.longest = max(self.longest, len(slices))
        return [self.process(slice) for slice in slices]
