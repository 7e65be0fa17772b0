"""A source that is asked, and misbehaves at some slices."""

import ctypes
import os
import time

import weir_daq


class Unruly(weir_daq.Source):
    """does `what` at every `every`-th slice, in source `bad`"""

    def __init__(self, setup):
        self.what = setup.parameter("what", "nothing")
        self.every = setup.parameter("every", 100)
        self.kept = []
        self.is_bad = setup.source == setup.parameter("bad", 1)
        if self.what == "refuse":
            raise ValueError("no crate found")

    def begin_run(self, run):
        self.children = 0

    def fragment(self, slice_id):
        if self.is_bad and slice_id % self.every == self.every - 1:
            return self.misbehave(slice_id)
        return bytes([slice_id % 251]) * (10 + self.source)

    def misbehave(self, slice_id):
        if self.what == "raise":
            raise ValueError("no data today")
        if self.what == "text":
            return "not bytes"
        if self.what == "nothing to say":
            return None
        if self.what == "long":
            return bytes(3 << 20)
        if self.what == "longer than the lane":
            return bytes(40 << 20)
        if self.what == "hang":
            time.sleep(1000)
        if self.what == "exit":
            os._exit(3)
        if self.what == "sys.exit":
            raise SystemExit(4)
        if self.what == "leak":
            while True:
                self.kept.append(bytes(16 << 20))
        if self.what == "crash":
            ctypes.string_at(0)
        if self.what == "fork":
            if os.fork() == 0:
                if slice_id % 200 == 99:
                    raise SystemExit(5)
                return b"of the child"
            self.children += 1
        return bytes([slice_id % 251]) * (10 + self.source)
