import json
import os
import tempfile
import unittest

from support import ROOT, main, require

require("numpy")

from weir_daq import plots


def point(**changes):
    """A line of `weir bench incast`."""
    line = {"bench": "incast", "shaper": "byte-credits", "window_bytes": 72000, "window_fragments": 0,
            "window_segments": 0, "congestion_control": "cubic", "fragment_bytes": 65536, "fragments_per_readout": 1,
            "readouts": 8, "dcms": 1, "offered_share_of_theory": 0, "port_rate": "200mbit", "port_buffer": "100k",
            "serialisation_us": 20000,
            "after_1s": {"share_of_theory": 0.9, "p50_us": 21000, "p99_us": 25000, "max_us": 30000}}
    line.update(changes)
    return line


class ExperimentTest(unittest.TestCase):
    def test_a_paper_figure_has_goodput_latency_and_distributions_for_each_cure_and_tcp(self):
        def line(tcp, x):
            return {"bench": "experiment", "paper": "thesis", "figure": "4.5", "title": "Quota", "scale": 0.1,
                    "x_label": "quota", "x_paper": x, "cure": "traffic shaping", "tcp": tcp, "share_of_theory": 0.5,
                    "mean_ms": 21.0, "p99_ms": 30.0, "histogram_ms": [[20, 3], [25, 1]]}

        lines = [line(tcp, x) for tcp in ("old", "new") for x in (10, 960)]
        goodput, latency, distribution = plots.figures_of("thesis-4.5", lines)
        labels = [curve[0] for curve in goodput.curves]
        self.assertEqual(labels, ["traffic shaping, old TCP", "traffic shaping, new TCP"])
        self.assertEqual(goodput.curves[0][1:3], ([10, 960], [50.0, 50.0]))
        self.assertEqual(len(latency.curves), 4)
        self.assertEqual(distribution.curves[0][1:3], ([21, 26], [75.0, 100.0]))
        lines = [dict(one, x_label="") for one in lines]
        self.assertEqual([figure.name for figure in plots.figures_of("thesis-4.8", lines)], ["thesis-4.8-distribution"])


    def test_a_failover_is_drawn_over_time_with_its_cut(self):
        line = {"bench": "experiment", "paper": "thesis", "figure": "6.10", "title": "A cut", "scale": 0.005,
                "x_label": "", "cure": "rings", "tcp": "new", "histogram_ms": [[20, 3]],
                "all_mbit": [[0.25, 50.0], [0.5, 40.0]], "affected_mbit": [[0.25, 12.0], [0.5, 2.0]],
                "others_mbit": [[0.25, 38.0], [0.5, 38.0]], "resent": [[0.25, 0], [0.5, 3]],
                "cut_at_s": 12, "cut_until_s": 24}
        rate, resent = plots.figures_of("thesis-6.10", [line])
        self.assertEqual([curve[0] for curve in rate.curves], ["all DCMs", "affected DCMs", "the others"])
        self.assertEqual(rate.curves[1][1:3], ([0.25, 0.5], [12.0, 2.0]))
        self.assertEqual(rate.marks, [(12, "cut"), (24, "return")])
        self.assertEqual(resent.curves[0][1:3], ([0.25, 0.5], [0, 3]))


class FilterNodeTest(unittest.TestCase):
    def test_the_slices_taken_and_both_parts_of_the_cpu_time_are_drawn_over_the_input_rate(self):
        def line(node, khz, thrown_away, emulated=True):
            return {"bench": "filter-node", "node": node, "emulated": emulated, "input_khz": khz, "offered": 500,
                    "thrown_away": thrown_away, "filter_percent": khz / 2, "transport_percent": 1.5,
                    "paper_max_khz": 50}

        lines = [line("1 x 1", 70, 0), line("1 x 1", 80, 50), line("2 x 2", 70, 0),
                 line("2 x 1, coincidence", 70, 0, False)]
        taken, cost = plots.figures_of("filter-node", lines)
        self.assertEqual(taken.curves[0][0:3], ("1 x 1", [70, 80], [100, 90]))
        self.assertEqual(len(taken.curves), 2)
        self.assertEqual([mark[0] for mark in taken.marks], [50, 50])
        self.assertEqual([curve[2] for curve in cost.curves[:2]], [[35, 40], [1.5, 1.5]])


class RcnpTest(unittest.TestCase):
    def test_decision_times_are_a_distribution_and_buffers_are_drawn_over_time(self):
        line = {"bench": "rcnp", "figure": "7", "title": "Latency", "x_label": "", "label": "16 steps",
                "decision_above_us": [[1000, 0.5], [3000, 0]]}
        (latency,) = plots.figures_of("rcnp-8", [line])
        self.assertEqual(latency.curves[0][1:3], ([1.0], [0.5]))
        buffers = [{"packed": packed, "sample_ms": 4.0, "slices": [100, 102, 101, 99]} for packed in (1, 10)]
        _, over_time, shares = plots.figures_of("rcnp-7", [dict(line, buffers=buffers)])
        self.assertEqual([over_time.name, shares.name], ["rcnp-7-buffer", "rcnp-7-buffer-distribution"])
        self.assertEqual(over_time.curves[1][0:3], ("N = 10", [0, 4, 8, 12], [100, 102, 101, 99]))
        self.assertEqual(shares.curves[0][1:3], ([99, 100, 101, 102], [0.75, 0.5, 0.25, 0]))


class CoincidenceTest(unittest.TestCase):
    def test_the_share_of_tracks_at_least_as_long_is_drawn_and_purity_beside_efficiency(self):
        def line(varied, minimum, **changes):
            return {"bench": "coincidence", "varied": varied, "minimum": minimum, "modules": 15, "background_hz": 70000,
                    "burst_fraction": 0, "track_rate_hz": 200, "efficiency": 0.9, "purity": 0.8,
                    "by_floors": [[0, 50, 0], [2, 10, 5], [3, 10, 10]], "by_hits": [[4, 20, 15]], **changes}

        lines = [line("length", 3), line("search", 3)]
        lines += [line("background", minimum, background_hz=hz) for minimum in (2, 3) for hz in (35000, 70000)]
        floors, hits, background = plots.figures_of("muons", lines)
        self.assertEqual([figure.name for figure in (floors, hits, background)],
                         ["muons-floors", "muons-hits", "muons-background"])
        self.assertEqual(floors.curves[0][1:3], ([2, 3], [75.0, 100.0]))
        self.assertEqual(hits.curves[0][1:3], ([4], [75.0]))
        self.assertEqual([curve[1:3] for curve in background.curves], [([35, 70], [90, 90]), ([35, 70], [80, 80])] * 2)


class NetworkTraceTest(unittest.TestCase):
    def test_a_trace_has_use_in_bins_of_10_ms_queues_and_requests(self):
        lines = [{"bench": "network-trace", "samples_left_out": 0, "requesters": ["d0"], "samples": 3,
                  "ports": [{"name": "switch>d0", "rate_bits_per_s": 8000000, "buffer_bytes": 1000},
                            {"name": "switch>r0", "rate_bits_per_s": 8000000, "buffer_bytes": 1000}]},
                 {"us": 1000, "sent": [500, 0], "queue": [100, 0], "requests": [64]},
                 {"us": 9000, "sent": [4500, 0], "queue": [0, 0], "requests": [36]},
                 {"us": 21000, "sent": [10000, 0], "queue": [0, 0], "requests": [0]}]
        use, queues, requests = plots.figures_of("trace", lines)
        self.assertEqual(use.curves, [("switch>d0", [0.0, 0.01, 0.02], [50.0, 0.0, 100.0], {"steps": True})])
        self.assertEqual(queues.curves[0][2], [0.1, 0.0, 0.0])
        self.assertEqual(requests.curves[0][:3], ("d0", [0.001, 0.009, 0.021], [0.064, 0.1, 0.1]))

    def test_a_traced_experiment_has_a_slice_s_requests_and_responses(self):
        line = {"bench": "experiment", "paper": "thesis", "figure": "4.6", "title": "Requests", "scale": 0.1,
                "x_label": "", "x_paper": 0, "cure": "static TCP", "tcp": "old", "histogram_ms": [[17, 1]],
                "requests": [[1, 0.5]], "responses": [[1, 0], [17, 20]]}
        figures = plots.figures_of("thesis-4.6", [line])
        self.assertEqual([figure.name for figure in figures],
                         ["thesis-4.6-responses", "thesis-4.6-requests", "thesis-4.6-distribution"])
        self.assertEqual(figures[0].curves[0][:3], ("static TCP, old TCP", [1, 17], [0, 20]))


class PushedDelaysTest(unittest.TestCase):
    def line(self, **changes):
        return {"bench": "experiment", "paper": "antares", "figure": "4.3", "title": "Delays", "scale": 0.1,
                "x_label": "", "x_paper": 0, "cure": "direct", "tcp": "old", "histogram_ms": [], "mean_ms": 2,
                "p99_ms": 8, "max_ms": 9, **changes}

    def test_models_are_bars_of_mean_99_percent_and_longest(self):
        lines = [self.line(bars=True), self.line(bars=True, cure="delayed, k = 8", p99_ms=0)]
        bars, = plots.figures_of("antares-4.3", lines)
        self.assertEqual(bars.groups, ["direct, old TCP", "delayed, k = 8, old TCP"])
        self.assertEqual(bars.bars, [("mean", [2, 2]), ("99 %", [8, None]), ("longest", [9, 9])])

    def test_sources_of_mixed_traffic_are_bars_of_least_and_most(self):
        line = self.line(paper="mixed", histogram_ms=[[5, 1]], source_least=0.25, source_most=0.5)
        bars, = plots.figures_of("mixed-11", [line])
        self.assertEqual(bars.bars, [("the source that sends least", [25]), ("the source that sends most", [50])])

    def test_delays_are_points(self):
        delays, = plots.figures_of("antares-4.1", [self.line(delays=[[7, 0.5], [8, 2]])])
        self.assertEqual(delays.curves, [("direct, old TCP", [7, 8], [0.5, 2], {"marker": ".", "linestyle": ""})])

    def test_bursts_are_beside_a_binomial_distribution_of_their_mean(self):
        line = {"bench": "bursts", "paper": "antares", "figure": "4.4", "title": "Bursts", "lcms": 2, "mean": 1,
                "sigma": 0.7, "slices": [[0, 1], [1, 2], [2, 1]]}
        figure, = plots.figures_of("antares-4.4", [line])
        self.assertEqual([curve[2] for curve in figure.curves], [[25, 50, 25], [25, 50, 25]])


class AntaresModelTest(unittest.TestCase):
    def test_the_thesis_figures_come_from_reno_s_rows(self):
        line = {"bench": "antares-model", "sender": "Reno", "row": "tcp-direct-sector", "label": "direct, sector",
                "lcms": 5, "delivered": 2, "mean_ms": 5, "p99_ms": 6, "max_ms": 7, "delays": [[0, 5], [1, 7]]}
        bio = {**line, "row": "tcp-bio", "label": "bio", "delays": [], "in_burst": [[0, 3], [1, 1]]}
        figures = plots.figures_of("antares-model", [line, {**line, "sender": "NewReno"}, bio])
        names = ["antares-model-4.1", "antares-model-4.3", "antares-model-4.4"]
        self.assertEqual([figure.name for figure in figures], names)
        self.assertEqual(figures[0].curves[0][:3], ("Reno", [0, 1], [0.005, 0.007]))
        self.assertEqual(figures[1].groups, ["direct, sector", "bio"])
        self.assertEqual(figures[2].curves[0][:3], ("counted", [0, 1], [75, 25]))


class BurstTest(unittest.TestCase):
    def test_the_saved_rate_follows_from_the_bytes_saved_between_two_times(self):
        quiet = {"bench": "burst", "run": "quiet", "bytes_per_s": 8_000_000, "late_s": 30,
                 "save_bytes_per_s": 2_000_000, "bytes_saved": [[1, 0], [5, 0]]}
        alerts = {**quiet, "run": "alerts",
                  "bytes_saved": [[1, 0], [2, 3_000_000], [5, 4_000_000], [13, 20_000_000]]}
        (figure,) = plots.figures_of("burst", [quiet, alerts])
        self.assertEqual([curve[:3] for curve in figure.curves],
                         [("quiet", [5], [0]), ("alerts", [5, 13], [1, 2]), ("limit of all DCMs", [0, 13], [2, 2])])


class AxisTest(unittest.TestCase):
    def test_the_axis_is_the_first_setting_that_was_varied_and_the_labels_are_what_else_was(self):
        lines = [point(window_bytes=window, congestion_control=control)
                 for window in (36000, 72000) for control in ("cubic", "bbr")]
        axis = plots.axis_of(lines)
        self.assertEqual(axis[1], "window of each DCM, kB")
        self.assertEqual(plots.labels_of(lines, axis), ["cubic", "bbr", "cubic", "bbr"])
        self.assertEqual(plots.labels_of(lines, None)[0], "36 kB, cubic")
        offered = [point(offered_share_of_theory=share) for share in (0.5, 0.9)]
        self.assertEqual(plots.axis_of(offered)[1], "offered, % of theory")

    def test_quotas_alone_are_drawn_in_fragments_and_beside_windows_in_bytes(self):
        quotas = [point(shaper="fragment-credits", window_bytes=0, window_fragments=count, fragment_bytes=1024)
                  for count in (1, 2)]
        self.assertEqual(plots.axis_of(quotas)[1], "quota of each DCM, fragments")
        figure = plots.goodput_figure("test", quotas, plots.axis_of(quotas))
        self.assertEqual(figure.marks, [(100, "buffer of the port")])
        both = [*quotas, point()]
        self.assertEqual(plots.axis_of(both)[1], "window of each DCM, kB")
        self.assertEqual(plots.value_of(quotas[1], "window_bytes"), 2048)

    def test_a_buffer_is_read_as_a_lab_file_has_it(self):
        for text, size in (("100k", 102400), ("100KiB", 102400), ("1m", 1048576), ("1g", 1073741824), ("1500", 1500),
                           ("1.5kb", 1536), ("10 packets", None), ("", None)):
            self.assertEqual(plots._bytes_of(text), size, text)

    def test_one_window_of_each_of_two_shapers_is_no_axis(self):
        lines = [point(), point(shaper="fragment-credits", window_bytes=0, window_fragments=4)]
        self.assertIsNone(plots.axis_of(lines))
        self.assertEqual(plots.network_figures("test", lines), [])


class FigureTest(unittest.TestCase):
    def test_a_shaper_without_a_window_is_a_level_from_end_to_end(self):
        lines = [point(window_bytes=window) for window in (30000, 10000, 20000)]
        lines.append(point(shaper="none", window_bytes=0))
        goodput, latency = plots.network_figures("test", lines)
        self.assertEqual([curve[:3] for curve in goodput.curves],
                         [("byte-credits", [10, 20, 30], [90, 90, 90]), ("none", [10, 30], [90, 90])])
        self.assertEqual(goodput.about, "Incast to one DCM, 8 readouts, fragments of 65536 B, 1 a readout, cubic; "
                                        "port 200mbit, buffer 100k")
        self.assertEqual(latency.curves[1][2], [25, 25, 25])  # p99
        self.assertEqual(latency.curves[-1][:3], ("a slice alone", [10, 20, 30], [20, 20, 20]))

    def test_distributions_and_arrivals_are_drawn_where_every_point_has_them(self):
        lines = [point(shaper=shaper, window_bytes=0, took_longer=[[20, 100], [220, 0]], arrivals=[[8, 0.5], [9, 2]])
                 for shaper in ("none", "adaptive")]
        distribution, arrivals = plots.network_figures("test", lines)
        self.assertEqual(distribution.curves[0][:3], ("none", [20, 220], [100, plots.SHARE_LEAST / 2]))
        self.assertEqual(arrivals.curves[1][:3], ("adaptive", [0, 8, 9], [0, 0.5, 2]))
        del lines[1]["took_longer"], lines[0]["arrivals"]
        self.assertEqual(plots.network_figures("test", lines), [])

    def test_a_case_of_the_field_has_a_bar_for_each_shaper_and_none_where_it_was_not_measured(self):
        lines = [{"bench": "field", "case": case, "load": load, "shaper": "adaptive", "share_of_theory": share,
                  "p99_over_serialisation": 3}
                 for case, load, share in (("lan-8", "quiet", 0.9), ("lan-8", "busy", 0.8), ("core", "busy", 0.3))]
        figures = plots.figures_of("field", lines)
        self.assertEqual([figure.name for figure in figures],
                         ["field-goodput-quiet", "field-latency-quiet", "field-goodput-busy", "field-latency-busy"])
        self.assertEqual(figures[0].bars, [("adaptive", [90, None])])
        self.assertEqual(figures[2].bars, [("adaptive", [80, 30])])

    def test_the_rate_of_a_changing_farm_is_beside_what_is_expected_of_it(self):
        phases = [{"change": "begin", "at_s": 0, "until_s": 5, "expected_hz": 400},
                  {"change": "remove dcm-3", "at_s": 5, "until_s": 10, "expected_hz": 300}]
        line = {"bench": "changing-farm", "dcms": 4, "filter_ms": 10, "phases": phases, "rate_every_s": 0.5,
                "rate_hz": [398, 401]}
        figure = plots.figures_of("changing-farm", [line])[0]
        self.assertEqual(figure.marks, [(0, "begin"), (5, "remove dcm-3")])
        self.assertEqual(figure.curves[0][1:3], ([0, 5, 5, 10], [400, 400, 300, 300]))
        self.assertEqual(figure.curves[1][1:3], ([0.5, 1.0], [398, 401]))
        self.assertEqual(plots.figures_of("changing-farm", [dict(line, phases=[])]), [])


class FileTest(unittest.TestCase):
    def test_the_committed_lines_have_the_pictures_that_the_docs_show(self):
        folder = os.path.join(ROOT, "docs", "benchmarks")
        drawn = set()
        for file_name in sorted(os.listdir(folder)):
            if not file_name.endswith(".jsonl"):
                continue
            with open(os.path.join(folder, file_name), encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            if lines[0]["bench"] == "isolation":  # a table without a picture
                continue
            name = file_name[:-len(".jsonl")]
            with open(os.path.join(folder, name + ".md"), encoding="utf-8") as file:
                page = file.read()
            for figure in plots.figures_of(name, lines):
                drawn.add(figure.name + ".svg")
                self.assertIn("(%s.svg)" % figure.name, page)
        self.assertEqual(drawn, {one for one in os.listdir(folder) if one.endswith(".svg")})

    def test_a_file_that_no_bench_made_is_refused_with_a_sentence(self):
        for text in ("", '{"bench": "loopback"}\n', "[]\n", "nonsense\n",
                     '{"bench": "incast"}\n3\n', '{"bench": "incast"}\n'):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "x.jsonl")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                self.assertEqual(plots.main([path]), 1)

    def test_pictures_are_drawn_and_shown_once(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("matplotlib is not installed")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                for window in (36000, 72000):
                    file.write(json.dumps(point(window_bytes=window)) + "\n")
            page = os.path.join(folder, "x.md")
            with open(page, "w", encoding="utf-8") as file:
                file.write("# x\n")
            made = plots.plot(path)
            plots.plot(path)
            self.assertEqual([os.path.basename(one) for one in made], ["x-goodput.svg", "x-latency.svg"])
            with open(page, encoding="utf-8") as file:
                self.assertEqual(file.read().count("![Goodput](x-goodput.svg)"), 1)
            with open(made[0], encoding="utf-8") as file:
                self.assertIn("goodput, % of theory", file.read())


if __name__ == "__main__":
    main()
