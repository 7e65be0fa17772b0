"""Accepts every slice, as the plugin of this name does. Parameter: keep (all, none)."""

from weir_daq.filters import accept


class Filter:
    """accepts every slice"""

    def __init__(self, setup):
        self.decision = accept(keep=setup.choice("keep", ["all", "none"]))

    def process(self, slice):
        return self.decision
