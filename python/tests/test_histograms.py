import json
import os
import subprocess
import tempfile
import unittest

from support import main, random_record, require, write_run

require("numpy", "crc32c")

import numpy as np

import weir_daq as weir

DOCUMENT = {
    "run": 7,
    "incomplete": ["dcm-1"],
    "histograms": [
        {"name": "hits", "kind": "1d", "x": {"bins": 3, "low": 0, "high": 6}, "entries": 8, "unusable": 1,
         "sum_x": 14, "sum_x2": 40, "contents": [1, 2, 0, 3, 1]},
        {"name": "map", "kind": "2d", "x": {"bins": 2, "low": 0, "high": 2}, "y": {"bins": 1, "low": 0, "high": 1},
         "entries": 3, "unusable": 0, "sum_x": 0, "sum_x2": 0, "contents": [0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0]},
        {"name": "gain", "kind": "profile", "x": {"bins": 2, "low": 0, "high": 2}, "entries": 3, "unusable": 0,
         "sum_x": 0, "sum_x2": 0, "contents": [0, 2, 0, 1], "sum_y": [0, 6, 0, 5], "sum_y2": [0, 20, 0, 25]},
    ],
}


class HistogramsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        write_run(self.folder, [("w-0", 0, [random_record(1)], [])])
        self.path = os.path.join(self.folder, "run-000007-histograms.json")

    def write(self, document=DOCUMENT):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(document, file)

    def test_a_run_has_the_histograms_of_its_filter_as_arrays(self):
        self.write()
        histograms = weir.Run(self.folder).histograms
        self.assertEqual(list(histograms), ["hits", "map", "gain"])
        self.assertEqual(histograms.incomplete, ["dcm-1"])
        hits = histograms["hits"]
        self.assertEqual(hits.values.tolist(), [2, 0, 3])
        self.assertEqual(hits.flow.tolist(), [1, 2, 0, 3, 1])
        self.assertEqual(hits.x.edges.tolist(), [0, 2, 4, 6])
        self.assertEqual(hits.x.centers.tolist(), [1, 3, 5])
        self.assertEqual((hits.entries, hits.unusable), (8, 1))

    def test_the_first_index_of_a_2d_histogram_is_x(self):
        self.write()
        found = weir.Run(self.folder).histograms["map"]
        self.assertEqual(found.values.tolist(), [[1], [2]])
        self.assertEqual(found.flow.shape, (4, 3))

    def test_a_profile_has_means_and_deviations(self):
        self.write()
        gain = weir.Run(self.folder).histograms["gain"]
        self.assertEqual(gain.values[0], 3)
        self.assertTrue(np.isnan(gain.values[1]))
        self.assertEqual(gain.deviations[0], 1)
        with self.assertRaises(ValueError):
            _ = weir.Run(self.folder).histograms["hits"].deviations

    def test_a_run_without_histograms_has_none_and_a_damaged_record_is_an_error(self):
        self.assertEqual(dict(weir.Run(self.folder).histograms), {})
        self.write({"histograms": [{"name": "hits"}], "incomplete": []})
        with self.assertRaises(weir.FormatError):
            _ = weir.Run(self.folder).histograms

    def test_hist_has_the_same_contents(self):
        try:
            import hist  # noqa: F401
        except ImportError:
            self.skipTest("no package hist")
        self.write()
        histograms = weir.Run(self.folder).histograms
        self.assertEqual(histograms["hits"].to_hist().values(flow=True).tolist(), [1, 2, 0, 3, 1])
        self.assertEqual(histograms["map"].to_hist().values().tolist(), [[1], [2]])
        profile = histograms["gain"].to_hist()
        self.assertEqual(profile.values()[0], 3)
        self.assertAlmostEqual(profile.view()["_sum_of_weighted_deltas_squared"][0], 2)

    def test_weir_file_histograms_reads_the_same_record(self):
        weir_program = os.path.join(os.environ.get("WEIR_BIN_DIR", ""), "weir")
        if not os.path.exists(weir_program):
            self.skipTest("no weir")
        self.write()
        command = [weir_program, "file", "histograms", self.folder, "--json"]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        self.assertEqual([json.loads(line) for line in told.splitlines()], DOCUMENT["histograms"])


if __name__ == "__main__":
    main()
