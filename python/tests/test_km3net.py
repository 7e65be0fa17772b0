import struct
import unittest

from support import main, require

require("numpy", "crc32c")

import numpy as np

import weir_daq as weir
from weir_daq import km3net


def frames(modules, *, wrong_length=False):
    """The bytes of a vector of super frames. modules: (id, [(channel, time, tot)]) each."""
    count = len(modules)
    columns = np.zeros((18, count), ">u4")
    for at, (module, hits) in enumerate(modules):
        columns[:, at] = [56 + 6 * len(hits) + wrong_length, *([0] * 10), module, *([0] * 5), len(hits)]
    hits = b"".join(np.array(hits, weir.HIT).tobytes() for _, hits in modules)
    return np.frombuffer(bytes(8) + struct.pack(">I", count) + columns.tobytes() + bytes(6) + hits, np.uint8)


class FramesTest(unittest.TestCase):
    def test_hits_are_those_of_their_module_in_the_order_of_ids(self):
        modules, hits = km3net.parse_frames(frames([(9, [(1, 100, 5)]), (4, []), (7, [(2, 7, 1), (3, 8, 2)])]))
        self.assertEqual(modules.tolist(), [4, 7, 9])
        self.assertEqual([one.tolist() for one in hits], [[], [(2, 7, 1), (3, 8, 2)], [(1, 100, 5)]])

    def test_bytes_that_are_no_frames_are_refused(self):
        good = frames([(9, [(1, 100, 5)]), (4, [])])
        for bad in (good[:11], good[:100], good[:-1], np.append(good, np.uint8(0)),
                    frames([(9, [(1, 1, 1)])], wrong_length=True), frames([(9, []), (9, [])])):
            with self.assertRaises(weir.FormatError):
                km3net.parse_frames(bad)

    def test_a_start_has_its_flag_left_out(self):
        start = struct.pack(">6xII", 1 << 31 | 1_761_123_808, 43_750_000)
        self.assertEqual(km3net.parse_start(np.frombuffer(start, np.uint8)), (1_761_123_808, 700_000_000))
        for bad in (start[:-1], struct.pack(">6xII", 1, 62_500_000)):
            with self.assertRaises(weir.FormatError):
                km3net.parse_start(np.frombuffer(bad, np.uint8))


if __name__ == "__main__":
    main()
