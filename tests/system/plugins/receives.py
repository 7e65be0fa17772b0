"""Accepts slices forwarded with their id, and fails for others."""

from weir_daq.filters import accept


class Filter:
    def process(self, slice):
        if int.from_bytes(slice.forwarded, "little") != slice.id:
            raise ValueError(f"forwarded bytes: {slice.forwarded!r}")
        return accept(result=slice.forwarded)
