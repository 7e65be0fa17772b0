"""Accepts slices with an id that `multiple` divides, with the sum of all bytes as the filter result."""

import numpy as np
from weir_daq.filters import accept, reject


class Filter:
    def __init__(self, setup):
        self.multiple = setup.parameter("multiple", 3, 1)

    def process(self, slice):
        if slice.id % self.multiple:
            return reject()
        total = sum(int(fragment.data.sum(dtype=np.uint64)) for fragment in slice)
        return accept(result=total.to_bytes(8, "little"), events=[(slice.id, np.arange(3, dtype="<u2"))])
