"""Rejects every slice, and gives a burst alert with each from number `origin` on."""

from weir_daq.filters import reject


class Filter:
    def __init__(self, setup):
        self.origin = setup.parameter("from", 1)

    def process(self, slice):
        if slice.id >= self.origin:
            slice.alert(f"slice {slice.id}", before_s=100, after_s=0.2)
        return reject()
