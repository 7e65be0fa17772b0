"""The filter of plugins/pairs.cpp in Python, with the same decisions. Parameters: as there, and batches."""

import os
import signal

from weir_daq.filters import accept, forward, need, reject

_MASK = (1 << 64) - 1
_GROUPS = ("first", "second", "third")


def _mix(x):
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


class Filter:
    """decides over the bytes of one to three steps"""

    def __init__(self, setup):
        self.to = setup.parameter("to", "")
        self.keep = setup.parameter("keep", False)
        self.steps = setup.parameter("steps", 1, 1, 3)
        self.dies_in = setup.parameter("dies_in", "")
        self.dies_every = setup.parameter("dies_every", 50, 1)
        self.alerts_at = set(setup.sources("alerts_at"))
        self.groups = [setup.group(name) for name in _GROUPS]
        self.hashes = setup.book_histogram("hash", 32, 0, 32)
        if setup.parameter("batches", False):
            self.process_many = lambda slices: [self.process(one) for one in slices]

    def first_sources(self):
        return self.groups[0].sources if self.steps > 1 else None

    def process(self, slice):
        step = slice.step
        last = step + 1 == self.steps
        self._check_what_is_shown(slice, last)
        if step == 0:
            value, added = slice.id, slice.fragments
        else:
            value = slice.remembered
            if value is None:
                raise RuntimeError(f"slice {slice.id} forgot its step {step - 1}")
            added = [slice.fragment(source) for source in self.groups[step].sources]
        for fragment in added:
            if not fragment.requested:
                continue
            value = _mix(value ^ fragment.source)
            value = _mix(value ^ fragment.length)
            for at in range(0, min(fragment.length, 16)):
                value = _mix(value ^ int(fragment.data[at]))
        if not last:
            if value % 7 == 0:
                self.hashes.fill(31, slice=slice)
                if self.keep:
                    self._alert_at(slice)
                return self._refuse()
            slice.remember(value)
            ahead = [self.groups[2]] if step == 0 else []
            return need(self.groups[step + 1], prefetch=ahead)
        self._die_once(slice)
        if self.to:
            return forward(self.to, slice.id.to_bytes(8, "little"))
        self._alert_at(slice)
        self.hashes.fill(value % 31, slice=slice)
        return accept(result=value.to_bytes(8, "little")) if value % 3 else self._refuse()

    def _alert_at(self, slice):
        if slice.id in self.alerts_at:
            slice.alert(f"slice {slice.id}", before_s=0.05, after_s=0.05)

    def _refuse(self):
        return accept(result=bytes(1)) if self.keep else reject()

    def _check_what_is_shown(self, slice, last):
        if slice.forwarded and int.from_bytes(slice.forwarded, "little") != slice.id:
            raise RuntimeError(f"slice {slice.id} came with bytes of another")
        shown = {fragment.source for fragment in slice.fragments if fragment.requested}
        named = {source for group in self.groups[: slice.step + 1] for source in group.sources}
        if self.steps == 1:
            named = {fragment.source for fragment in slice.fragments}
        if shown != named:
            raise RuntimeError(f"step {slice.step} of slice {slice.id} shows {sorted(shown)}, not {sorted(named)}")

    def _die_once(self, slice):
        if not self.dies_in or slice.id % self.dies_every != 7:
            return
        try:
            os.close(os.open(f"{self.dies_in}/{slice.id}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)
