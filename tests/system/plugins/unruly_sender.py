"""A source that delivers, and misbehaves."""

import queue
import time

import weir_daq


class Unruly(weir_daq.Source):
    """delivers each announced slice, `what`: in order, out of order, twice, late, or too long"""

    def __init__(self, setup):
        self.what = setup.parameter("what", "in order")
        self.is_bad = setup.source == setup.parameter("bad", 1)
        self.slices = queue.SimpleQueue()

    def announced(self, slice_id, time_ns):
        self.slices.put((slice_id, time_ns))

    def run(self):
        held = []
        while self.running:
            try:
                slice_id, time_ns = self.slices.get(timeout=0.02)
            except queue.Empty:
                self.send(held)
                held = []
                continue
            if not self.is_bad or self.what == "in order":
                self.deliver(slice_id, self.data(slice_id), time_ns=time_ns)
            elif self.what == "raise" and slice_id == 100:
                raise ValueError("the crate is on fire")
            elif self.what == "late" and slice_id % 100 == 99:
                time.sleep(0.4)
                self.deliver(slice_id, self.data(slice_id))
            elif self.what == "too long" and slice_id % 100 == 99:
                self.deliver(slice_id, bytes(3 << 20))
            else:
                held.append(slice_id)
                if self.what != "out of order" or len(held) == 10:
                    self.send(held)
                    held = []

    def send(self, held):
        ids = held[::-1]
        self.deliver_many(ids, [self.data(slice_id) for slice_id in ids])
        if self.what == "twice" and self.is_bad:
            for slice_id in ids:
                self.deliver(slice_id, self.data(slice_id))

    def data(self, slice_id):
        return bytes([slice_id % 251]) * (10 + self.source)
