import shutil
import tempfile
import unittest

from support import main, make_record, require, write_run

require("numpy", "crc32c", "awkward")

import awkward as ak
import numpy as np

import weir_daq as weir


class HitsTest(unittest.TestCase):
    def test_hits_are_one_awkward_array(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        hits = np.array([(3, 100, 20), (5, 200, 30)], weir.HIT).tobytes()
        wave = bytes((0x80 | 7,)) + (300).to_bytes(4, "little") + bytes((9, 1)) + bytes(256)
        write_run(folder, [("w", 0, [make_record(1, [(4, hits), (6, b""), (9, 12)]),
                                          make_record(2, [(4, wave + hits)])], [])])
        array = weir.Run(folder).hits()
        self.assertEqual(ak.num(array).tolist(), [3, 1])
        self.assertEqual(array.source.tolist(), [[4, 6, 9], [4]])
        self.assertEqual(array.hits.time_ns.tolist(), [[[100, 200], [], []], [[300, 100, 200]]])
        self.assertEqual(array.hits.channel[1].tolist(), [[7, 3, 5]])
        self.assertEqual(weir.Run(folder)[0].hits().hits.tot_ns.tolist(), [[20, 30], [], []])

    def test_bytes_that_are_no_hits_are_refused(self):
        for content in (bytes(7), bytes((0x80,)) + bytes(5), bytes((0x80,)) + bytes(5) + b"\3" + bytes(600)):
            with self.assertRaises(weir.FormatError):
                weir.decode_hits(content)


if __name__ == "__main__":
    main()
