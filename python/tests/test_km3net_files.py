import json
import os
import shutil
import tempfile
import unittest

from support import main, require

require("numpy", "crc32c", "uproot", "km3net_testdata")

import km3net_testdata
import numpy as np

import weir_daq as weir
from weir_daq import km3net


def data(name):
    return str(km3net_testdata.data_path(name))


def online(kind):
    return data(f"online/KM3NeT_00000267_00025291_{kind}.root")


class FilesTest(unittest.TestCase):
    """Files of the PyPI package km3net-testdata."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def imported(self, name, **values):
        folder = os.path.join(self.folder, name)
        done = km3net.import_file(online(name), folder, **values)
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
            return folder, done, json.load(file)

    def test_supernova_slices_become_a_replay_folder(self):
        folder, done, index = self.imported("SN")
        self.assertEqual(done, {"slices": 99, "sources": 454, "hits": 94341})
        self.assertEqual(sum(one["bytes"] for one in index["slices"]), 566046)
        self.assertEqual({one["run"] for one in index["slices"]}, {25291})
        starts = [one["utc_s"] * 1_000_000_000 + one["utc_ns"] for one in index["slices"]]
        numbers = [one["slice"] for one in index["slices"]]
        # A slice lasts 100 ms.
        self.assertEqual({(b - a) // (n - m) for a, b, m, n in zip(starts, starts[1:], numbers, numbers[1:])},
                         {100_000_000})
        for one in index["slices"]:
            self.assertEqual(os.path.getsize(os.path.join(folder, one["file"])), one["bytes"])
            self.assertEqual(sum(6 * fragment["hits"] for fragment in one["fragments"]), one["bytes"])

    def test_level_1_slices_hold_hits_of_31_channels_within_their_100_ms(self):
        folder, done, index = self.imported("L1", slices_max=2, geometry=data("detx/detx_v3.detx"))
        self.assertEqual(done["slices"], 2)
        self.assertTrue(os.path.exists(os.path.join(folder, "detector.detx")))
        for one in index["slices"]:
            hits = np.fromfile(os.path.join(folder, one["file"]), weir.HIT)
            self.assertLess(int(hits["channel"].max()), 31)
            self.assertLess(int(hits["time_ns"].max()), 100_100_000)

    def test_a_file_without_such_slices_and_a_wrong_tree_are_refused(self):
        with self.assertRaisesRegex(weir.WeirError, "no time slices L0: it has SN"):
            self.imported("SN", tree="L0")
        with self.assertRaises(weir.WeirError):
            self.imported("JDAQEvent_JDAQSummaryslice")
        with self.assertRaisesRegex(weir.FormatError, "not a ROOT file"):
            km3net.import_file(__file__, os.path.join(self.folder, "x"))
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    main()
