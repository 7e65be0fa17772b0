"""Accepts slices with at least `minimum` hits within `window_ns`, on sources of the format of the `hits` source.

The same filter as multiplicity.cpp, in NumPy.
"""

import struct

import numpy as np
from weir_daq.filters import accept, reject

__version__ = "1.0"


class Filter:
    """accepts slices with `minimum` hits within `window_ns`"""

    def __init__(self, setup):
        self.minimum = setup.parameter("minimum", 10, 1)
        self.window_ns = setup.parameter("window_ns", 100, 1)
        self.keep = setup.choice("keep", ["all", "none"])
        self.hits = setup.counter("my_hits")

    def process(self, slice):
        times = np.concatenate([fragment.hits()["time_ns"] for fragment in slice])
        self.hits.add(len(times))
        times = np.sort(times).astype(np.int64)
        together = np.searchsorted(times, times + self.window_ns) - np.arange(len(times))
        most = int(together.max(initial=0))
        return accept(result=struct.pack("<I", most), keep=self.keep) if most >= self.minimum else reject()
