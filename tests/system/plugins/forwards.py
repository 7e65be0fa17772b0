"""Forwards slices with even ids to the group `building`, with the id, and rejects the others."""

from weir_daq.filters import forward, reject


class Filter:
    def process(self, slice):
        return reject() if slice.id % 2 else forward("building", slice.id.to_bytes(8, "little"))
