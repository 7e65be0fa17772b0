"""The filter `coincidence` on KM3NeT data, compared hit by hit with its README's algorithm in plain Python."""

import json
import os
import shutil
import struct
import subprocess
import tempfile
import unittest

from support import ROOT, main, require

require("numpy", "crc32c", "uproot", "km3net_testdata")

import km3net_testdata
import numpy as np

import weir_daq as weir
from weir_daq import km3net

BIN = os.environ.get("WEIR_BIN_DIR", os.path.join(ROOT, "build/release/bin"))
if not os.path.exists(os.path.join(BIN, "weir-dcm")):
    print(f"SKIPPED: no executables in {BIN}")
    raise SystemExit(77)

PAIR_WINDOW_NS, EXTRA_WINDOW_NS = 15, 20
LIGHT_IN_WATER = 0.299792458 / 1.3800851282  # m/ns
CANDIDATES_MAX = 256


def read_detx(path):
    """Returns {module: (floor, position, delays)} of a detx file, versions 2 to 5."""
    with open(path, encoding="utf-8") as file:
        lines = iter([line.split() for line in file if line.strip() and not line.startswith("#")])
    version = int(next(lines)[1][1:])
    next(lines), next(lines)
    modules = {}
    for _ in range(int(next(lines)[0])):
        words = next(lines)
        channels = [[float(word) for word in next(lines)] for _ in range(int(words[-1]))]
        if channels:
            place = words[3:6] if version >= 4 else np.mean([channel[1:4] for channel in channels], axis=0)
            modules[int(words[0])] = (len(modules), np.array(place, float), [channel[7] for channel in channels])
    least = min(time for _, _, times in modules.values() for time in times)
    return {
        module: (floor, place, [round(time - least) for time in times])
        for module, (floor, place, times) in modules.items()
    }


def level_1(source, hits):
    """Yields the coincidences of a module: [(time, source, channel, tot)] each. hits: by time."""
    begin = 0
    while begin < len(hits):
        end = begin + 1
        while end < len(hits) and hits[end][0] - hits[end - 1][0] <= PAIR_WINDOW_NS:
            end += 1
        if len({channel for _, channel, _ in hits[begin:end]}) > 1:
            yield [(time, source, channel, tot) for time, channel, tot in hits[begin:end]]
        begin = end


def clusters_of(one, modules, minimum):
    """Returns a slice's clusters in order, each as its hits in order."""
    found = []
    for fragment in one.fragments:
        if fragment.kept and fragment.source in modules:
            floor, _, delays = modules[fragment.source]
            hits = sorted((t + delays[c], c, tot) for c, t, tot in fragment.hits().tolist())
            found += [(hits[0][0], floor, hits) for hits in level_1(fragment.source, hits)]
    found.sort(key=lambda coincidence: coincidence[:2])
    places = np.array([place for _, place, _ in modules.values()])
    distance = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    reach = distance / LIGHT_IN_WATER + EXTRA_WINDOW_NS
    longest = reach.max()
    times = np.array([time for time, _, _ in found])
    floors = np.array([floor for _, floor, _ in found])
    used = np.zeros(len(found), bool)
    clusters = []
    for seed in range(len(found)):
        if used[seed]:
            continue
        last = np.searchsorted(times, times[seed] + longest, "right")
        after = np.arange(seed + 1, last)
        near = times[after] - times[seed] <= reach[floors[after], floors[seed]]
        chosen = np.array([seed, *after[near & ~used[after]][: CANDIDATES_MAX - 1]])
        connected = np.abs(times[chosen][:, None] - times[chosen]) <= reach[floors[chosen]][:, floors[chosen]]
        while len(chosen) >= minimum and not connected.all():
            keep = np.arange(len(chosen)) != connected.sum(axis=1).argmin()
            chosen, connected = chosen[keep], connected[keep][:, keep]
        if len(chosen) >= minimum and len(set(floors[chosen].tolist())) >= minimum:
            used[chosen] = True
            clusters.append(sorted(hit for at in chosen for hit in found[at][2]))
    return clusters


def events_of(one):
    """Returns the output events of a stored slice, each as its hits in order."""
    events = []
    for number, (event, data) in enumerate(one.events):
        version, _, count, _ = struct.unpack_from("<HHIq", data)
        assert (version, event, len(data)) == (1, one.id << 16 | number, 16 + 12 * count)
        lines = [struct.unpack_from("<IIBBH", data, 16 + 12 * at) for at in range(count)]
        events.append(sorted((time, source, channel, tot) for source, time, channel, tot, _ in lines))
    return events


class CoincidenceTest(unittest.TestCase):
    def test_clusters_on_level_1_slices_are_those_of_the_readme(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        geometry = str(km3net_testdata.data_path("detx/KM3NeT_00000133_20221025.detx"))
        data, out = os.path.join(folder, "data"), os.path.join(folder, "out")
        path = str(km3net_testdata.data_path("online/KM3NeT_00000267_00025291_L1.root"))
        km3net.import_file(path, data, geometry=geometry)
        with open(os.path.join(data, "index.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["slices"]), 3)
        modules = read_detx(geometry)
        compared = 0
        for minimum in (4, 5):
            settings = {"run.out": f"{out}-{minimum}", "replay.path": data, "filter.parameters.minimum": minimum,
                        "filter.parameters.geometry": os.path.join(data, "detector.detx")}
            words = [os.path.join(BIN, "weir"), "run", os.path.join(ROOT, "configs/km3net.yaml"), "--slices", "3"]
            words += [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
            ended = subprocess.run(words, capture_output=True, text=True, timeout=200)
            self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
            for one in weir.Run(f"{out}-{minimum}"):
                clusters = clusters_of(one, modules, minimum)
                self.assertEqual(events_of(one), clusters, f"slice {one.id}, minimum {minimum}")
                compared += len(clusters)
        self.assertGreater(compared, 300)

    def test_all_searches_find_the_same_in_recorded_slices(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        geometry = str(km3net_testdata.data_path("detx/KM3NeT_00000133_20221025.detx"))
        for kind, slices in (("L1", 3), ("SN", 99)):
            data = os.path.join(folder, kind)
            path = str(km3net_testdata.data_path(f"online/KM3NeT_00000267_00025291_{kind}.root"))
            km3net.import_file(path, data, geometry=geometry)
            outputs = []
            for search in ("vector", "scalar", "reference"):
                settings = {"geometry": os.path.join(data, "detector.detx"), "minimum": 2, "search": search}
                words = [os.path.join(BIN, "weir"), "filter", "try", "coincidence", data, "--json", "--list"]
                words += [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
                ended = subprocess.run(words, capture_output=True, text=True, timeout=200)
                self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
                lines = [line for line in map(json.loads, ended.stdout.splitlines()) if "slice" in line]
                outputs.append([(line["slice"], line["verdict"], line.get("output_digest")) for line in lines])
            self.assertEqual(len(outputs[0]), slices)
            self.assertGreater(len({digest for _, _, digest in outputs[0]}), 1)
            self.assertEqual(outputs[0], outputs[2], kind)
            self.assertEqual(outputs[1], outputs[2], kind)


if __name__ == "__main__":
    main()
