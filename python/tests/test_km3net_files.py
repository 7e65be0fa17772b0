import json
import os
import shutil
import subprocess
import tempfile
import unittest

from support import ROOT, main, require

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

    def test_supernova_slices_pass_a_farm_bit_for_bit(self):
        weir_command = os.path.join(os.environ.get("WEIR_BIN_DIR", ""), "weir")
        if not os.path.exists(os.path.join(os.path.dirname(weir_command), "weir-dcm")):
            self.skipTest("no executables of Weir")
        folder, _, index = self.imported("SN")
        out = os.path.join(self.folder, "out")
        farm = os.path.join(ROOT, "configs/replay.yaml")
        ended = subprocess.run(
            [weir_command, "run", farm, "--slices", "99", "--out", out, "--set", f"replay.path={folder}"],
            capture_output=True, text=True, timeout=200)
        # Modules that a slice of the recording lacks are missing fragments of its slice in the run.
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        # Slice k of the run is the recording's k-th by number.
        by_number = sorted(index["slices"], key=lambda recorded: recorded["slice"])
        compared = 0
        for one in weir.Run(out):
            recorded = by_number[one.id]
            content = np.fromfile(os.path.join(folder, recorded["file"]), np.uint8)
            found = {fragment.source: bytes(fragment.data) for fragment in one.fragments if fragment.kept}
            self.assertEqual(len(found), len(recorded["fragments"]))
            for fragment in recorded["fragments"]:
                begin = fragment["offset"]
                self.assertEqual(found[fragment["source"]], content[begin : begin + 6 * fragment["hits"]].tobytes())
                compared += fragment["hits"]
        self.assertEqual(compared, 94341)

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
