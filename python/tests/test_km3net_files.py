import json
import os
import shutil
import struct
import subprocess
import tempfile
import unittest

from support import ROOT, main, make_record, require, write_run

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
        self.assertEqual({one["duration_ns"] for one in index["slices"]}, {100_000_000})
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
        # 45,000 fragments in the index, which a busy machine reads for many seconds.
        patience = ["--set", "control.silence_ms=120000", "--set", "control.order_s=120"]
        ended = subprocess.run(
            [weir_command, "run", farm, "--slices", "99", "--out", out, "--set", f"replay.path={folder}", *patience],
            capture_output=True, text=True, timeout=250)
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

    def test_events_of_km3nets_trigger_are_compared_with_a_run_hit_by_hit(self):
        events = list(km3net.read_events(online("JDAQEvent_JDAQSummaryslice")))
        self.assertEqual([len(event.hits) for event in events], [25, 20, 14, 39, 35, 9, 64, 18, 10, 11, 13, 39, 25])
        self.assertEqual({event.run for event in events}, {25291})
        geometry = data("detx/KM3NeT_00000133_20221025.detx")
        folder, _, index = self.imported("SN", geometry=geometry)
        # A run of one slice, frame 2091, with one cluster: the hits of its larger event in modules of the geometry.
        delays = km3net.read_delays(geometry)
        by_number = sorted(index["slices"], key=lambda recorded: recorded["slice"])
        number = [recorded["slice"] for recorded in by_number].index(2091)
        recorded = by_number[number]
        content = np.fromfile(os.path.join(folder, recorded["file"]), np.uint8)
        fragments = [(one["source"], content[one["offset"] : one["offset"] + 6 * one["hits"]].tobytes())
                     for one in recorded["fragments"]]
        known = [hit for hit in events[6].hits.tolist() if hit[0] in delays]
        lines = [struct.pack("<IIBBH", hit[0], hit[2] + delays[hit[0]][hit[1]], hit[1], hit[3], 0) for hit in known]
        cluster = struct.pack("<HHIq", 1, 5, len(lines), 0) + b"".join(lines)
        out = os.path.join(self.folder, "out")
        os.mkdir(out)
        write_run(out, [("w", 0, [make_record(number, fragments, events=[(1, cluster)])], [])])
        compared = km3net.compare_events(online("JDAQEvent_JDAQSummaryslice"), weir.Run(out), folder)
        self.assertGreater(len(known), 20)
        self.assertEqual(compared[6], km3net.EventComparison(2091, 64, 46, len(known)))
        both = len(set(known) & set(events[7].hits.tolist()))
        self.assertEqual(compared[7], km3net.EventComparison(2091, 18, 9, both))
        self.assertEqual([one.stored for one in compared if one.frame_index != 2091], [0] * 11)
        clusters = km3net.compare_clusters(online("JDAQEvent_JDAQSummaryslice"), weir.Run(out), folder)
        self.assertEqual(clusters, [km3net.ClusterComparison(2091, len(known), len(known))])
        # The other direction: a cluster of hits that no event has, and one that has a hit of an event and another.
        other = [(one[0], (one[1] + 1) % 31, *one[2:]) for one in known]
        events = []
        for hits in (other[:3], [known[0], other[1]]):
            lines = [struct.pack("<IIBBH", module, time + delays[module][channel], channel, tot, 0)
                     for module, channel, time, tot, *_ in hits]
            events.append((len(events), struct.pack("<HHIq", 1, 5, len(lines), 0) + b"".join(lines)))
        out = os.path.join(self.folder, "other")
        os.mkdir(out)
        write_run(out, [("w", 0, [make_record(number, fragments, events=events)], [])])
        clusters = km3net.compare_clusters(online("JDAQEvent_JDAQSummaryslice"), weir.Run(out), folder)
        self.assertEqual(clusters, [km3net.ClusterComparison(2091, 3, 0), km3net.ClusterComparison(2091, 2, 1)])

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
