"""Pictures of the results of `weir bench`: python3 -m weir_daq.plots FILE.jsonl ...

Each file is what `weir bench ... --out` left: a point a line. Its pictures are SVG files beside it, and NAME.md, if it is
there, shows them at its end. The varied settings determine the picture: from left to right the first setting of AXES
that was, a curve for each combination of the others. Needs matplotlib, for drawing alone.
"""

import json
import math
import os
import re
import sys

AXES = (  # (key, label, unit): in this order a setting is looked at for what goes from left to right
    ("window_fragments", "quota of each DCM, fragments", 1),
    ("window_bytes", "window of each DCM, kB", 1000),
    ("offered_share_of_theory", "offered, % of theory", 0.01),
    ("readouts", "readouts", 1),
    ("fragment_bytes", "fragment, bytes", 1),
    ("fragments_per_readout", "fragments of each readout in a slice", 1),
    ("window_segments", "static congestion window, segments", 1),
)
CURVES_MAX = 12  # more cannot be told apart
LOG_FROM = 20  # an axis over more than this factor is logarithmic
SHARE_LEAST = 0.05  # of slices, in per cent, at the bottom of distributions
GREY = "0.4"


class Figure:
    """One picture: curves over one axis, and lines to compare them with."""

    def __init__(self, name, title, about, x, y):
        self.name, self.title, self.about, self.x, self.y = name, title, about, x, y
        self.curves = []  # (label, [x], [y], style): style as of matplotlib's plot(), and "steps"
        self.bars = []  # (label, [value or None]), over `groups`
        self.groups = []
        self.marks = []  # (x, text): upright lines
        self.marks_at = 0.02  # where their words are, from bottom to top of the picture
        self.log_x = self.log_y = False
        self.x_limits = self.y_limits = (None, None)
        self.legend = []  # (label, line style): what the styles of all curves mean


# ---- words

def _count(value, noun):
    return "%d %s%s" % (value, noun, "" if value == 1 else "s")


def words_of(line):
    """Returns the settings of a network point as text, by quantity; empty if it has none."""
    window = ""
    if line["window_fragments"]:
        window = _count(line["window_fragments"], "fragment")
    elif line["window_bytes"]:
        window = "%g kB" % (line["window_bytes"] / 1000)
    return {
        "shaper": line["shaper"],
        "window": window,
        "offered_share_of_theory":
            "%g %% offered" % (100 * line["offered_share_of_theory"]) if line["offered_share_of_theory"] else "",
        "readouts": _count(line["readouts"], "readout"),
        "fragment_bytes": "fragments of %d B" % line["fragment_bytes"],
        "fragments_per_readout": "%d a readout" % line["fragments_per_readout"],
        "window_segments":
            "congestion window fixed at %d" % line["window_segments"] if line["window_segments"] else "",
        "congestion_control": line["congestion_control"],
    }


def _word_of(key):
    return "window" if key in ("window_fragments", "window_bytes") else key


def allowed_bytes(line):
    """Returns the limit of data under way to a DCM; 0: no limit, or a self-tuning one."""
    return line["window_bytes"] or line["window_fragments"] * line["fragment_bytes"]


def value_of(line, key):
    """Where a point is on the axis of `key`; 0: it has no place there."""
    if key == "window_bytes":
        return allowed_bytes(line)
    return line[key]


def axis_of(lines):
    """Returns the first of AXES that varies for one shaper, so that points can be connected, or None."""
    for axis in AXES:
        key = axis[0]
        if key == "window_fragments" and any(line["window_bytes"] for line in lines):
            continue
        values = {}
        for line in lines:
            if value_of(line, key) > 0:
                values.setdefault(line["shaper"], set()).add(value_of(line, key))
        if any(len(some) > 1 for some in values.values()):
            return axis
    return None


def labels_of(lines, axis):
    """Returns what distinguishes each line from the others, besides its place on the axis."""
    words = [words_of(line) for line in lines]
    drawn = _word_of(axis[0]) if axis else None
    differ = [key for key in words[0] if key != drawn and len({one[key] for one in words}) > 1]
    return [", ".join(one[key] for key in differ if one[key]) for one in words]


def about_of(lines):
    """Returns the common settings of all points as text."""
    words = [words_of(line) for line in lines]
    text = "Incast to one DCM" if lines[0]["bench"] == "incast" else "All to all"
    for key in words[0]:
        if len({one[key] for one in words}) == 1 and words[0][key]:
            text += ", " + words[0][key]
    return text + "; port %s, buffer %s" % (lines[0]["port_rate"], lines[0]["port_buffer"])


# ---- networks

def _curves(lines, axis):
    """[(label, [(x, line)])], each in order of x; a line without a place on the axis is a level from end to end."""
    key, _, unit = axis
    curves = {}
    places = [value_of(line, key) / unit for line in lines if value_of(line, key) > 0]
    for line, label in zip(lines, labels_of(lines, axis)):
        points = curves.setdefault(label, [])
        if value_of(line, key) > 0:
            points.append((value_of(line, key) / unit, line))
        else:
            points[:] = [(min(places), line), (max(places), line)]
    return [(label, sorted(points, key=lambda point: point[0])) for label, points in curves.items()]


def _bytes_of(buffer):
    """"100k" in bytes, as a lab's files have it; None: it cannot be read."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?)(?:i?b)?", buffer.lower())
    return float(found.group(1)) * 1024 ** ["", "k", "m", "g"].index(found.group(2)) if found else None


def _mark_buffer(figure, lines, axis):
    """Where the windows of all DCMs behind a port are as large as its buffer."""
    buffer = _bytes_of(lines[0]["port_buffer"])
    sizes = {line["fragment_bytes"] for line in lines}
    unit = {"window_bytes": 1000}.get(axis[0])
    if axis[0] == "window_fragments" and len(sizes) == 1:
        unit = sizes.pop()
    if buffer is None or unit is None:
        return
    members = 1 if lines[0]["bench"] == "incast" else lines[0]["dcms"] // lines[0]["readouts"]
    figure.marks.append((buffer / unit / members, "buffer of the port"))


def _along(name, title, y, lines, axis):
    figure = Figure(name, title, about_of(lines), axis[1], y)
    places = [value_of(line, axis[0]) / axis[2] for line in lines if value_of(line, axis[0]) > 0]
    figure.log_x = max(places) / min(places) > LOG_FROM
    figure.x_limits = (None, None) if figure.log_x else (0, 1.05 * max(places))
    _mark_buffer(figure, lines, axis)
    return figure


def goodput_figure(name, lines, axis):
    figure = _along(name + "-goodput", "Goodput", "goodput, % of theory", lines, axis)
    figure.y_limits = (0, 108)
    for label, points in _curves(lines, axis):
        figure.curves.append((label or "goodput", [x for x, _ in points],
                              [100 * line["after_1s"]["share_of_theory"] for _, line in points], {"marker": "o"}))
    if axis[0] == "offered_share_of_theory":
        ends = sorted({0, 100, max(100, figure.x_limits[1] or 100)})
        figure.curves.append(("all that is offered", ends, [min(100, x) for x in ends], {"color": GREY, "linestyle": "--"}))
    return figure


def latency_figure(name, lines, axis):
    figure = _along(name + "-latency", "Latency of a slice", "first request to last fragment, ms", lines, axis)
    figure.log_y = True
    figure.marks_at = 0.75
    styles = (("p50", "p50_us", "-"), ("p99", "p99_us", "--"), ("max", "max_us", ":"))
    curves = _curves(lines, axis)
    for number, (label, points) in enumerate(curves):
        for quantile, key, style in styles:
            figure.curves.append((label if quantile == "p50" else "", [x for x, _ in points],
                                  [line["after_1s"][key] / 1000 for _, line in points],
                                  {"marker": ".", "color": "C%d" % number, "linestyle": style}))
    first = curves[0][1]
    figure.curves.append(("a slice alone", [x for x, _ in first], [line["serialisation_us"] / 1000 for _, line in first],
                          {"color": GREY, "linestyle": "-."}))
    figure.legend = [(quantile, style) for quantile, _, style in styles]
    return figure


def distribution_figure(name, lines):
    figure = Figure(name + "-distribution", "Distribution of latency", about_of(lines),
                    "first request to last fragment, ms", "slices that took longer, %")
    figure.log_x = figure.log_y = True
    figure.y_limits = (SHARE_LEAST, 100)
    figure.marks.append((200, "200 ms"))  # TCP's least retransmission timeout
    for line, label in zip(lines, labels_of(lines, None)):
        steps = line["took_longer"]
        # The last step goes down to the edge of a logarithmic axis.
        figure.curves.append((label or line["shaper"], [ms for ms, _ in steps],
                              [max(share, SHARE_LEAST / 2) for _, share in steps], {"steps": True}))
    return figure


def arrivals_figure(name, lines):
    figure = Figure(name + "-arrivals", "One slice's bytes over time", about_of(lines),
                    "time since the first request of a slow slice (9 of 10 are faster), ms", "arrived, kB")
    figure.x_limits = figure.y_limits = (0, None)
    for line, label in zip(lines, labels_of(lines, None)):
        points = [[0, 0]] + line["arrivals"]
        figure.curves.append((label or line["shaper"], [ms for ms, _ in points], [kb for _, kb in points], {"steps": True}))
    kb = max(line["arrivals"][-1][1] for line in lines)
    figure.curves.append(("a slice alone", [0, lines[0]["serialisation_us"] / 1000], [0, kb],
                          {"color": GREY, "linestyle": "--"}))
    return figure


def network_figures(name, lines):
    figures = []
    axis = axis_of(lines)
    if axis:
        figures += [goodput_figure(name, lines, axis), latency_figure(name, lines, axis)]
    if len(lines) <= CURVES_MAX and all(line.get("took_longer") for line in lines):
        figures.append(distribution_figure(name, lines))
    if len(lines) <= CURVES_MAX and all(line.get("arrivals") for line in lines):
        figures.append(arrivals_figure(name, lines))
    return figures


# ---- the other benches

def field_figures(name, lines):
    figures = []
    cases = list(dict.fromkeys(line["case"] for line in lines))
    shapers = list(dict.fromkeys(_shaper_of(line) for line in lines))
    for load, about in (("quiet", "nothing else runs"), ("busy", "a spinner on each core")):
        measured = {(line["case"], _shaper_of(line)): line for line in lines if line["load"] == load}
        for what, title, y, key, factor in (
                ("goodput", "Goodput", "goodput, % of theory", "share_of_theory", 100),
                ("latency", "Latency of a slice", "p99 over serialisation", "p99_over_serialisation", 1)):
            figure = Figure("%s-%s-%s" % (name, what, load), title, about, "", y)
            figure.groups = cases
            figure.log_y = what == "latency"
            figure.y_limits = (None, None) if figure.log_y else (0, 108)
            for shaper in shapers:
                values = [measured.get((case, shaper), {}).get(key, 0) * factor for case in cases]
                figure.bars.append((shaper, [value or None for value in values]))
            if measured:
                figures.append(figure)
    return figures


def _shaper_of(line):
    return line["shaper"] + (" %g kB" % (line["window_bytes"] / 1000) if line.get("window_bytes") else "")


def assignment_figures(name, lines):
    figures = []
    for suffix, key, label in (("mean", "mean_ms", "mean"), ("p99", "p99_ms", "99th percentile")):
        figure = Figure(
            name + "-" + suffix, "Decision latency, " + suffix,
            "5 workstations of 1 and 6 servers of 3 processors, 11.4 ms a slice, %d credits each" % lines[0]["credits"],
            "offered load, % of all processors", label + ", ms")
        figure.log_y = True
        figure.x_limits = (0, 100)
        for policy in dict.fromkeys(line["policy"] for line in lines):
            own = [line for line in lines if line["policy"] == policy]
            figure.curves.append((policy, [100 * line["load"] for line in own], [line[key] for line in own],
                                  {"marker": "."}))
        figures.append(figure)
    return figures


def changing_farm_figures(name, lines):
    line = lines[0]
    if not line["phases"]:
        return []  # nothing was stored
    figure = Figure(name, "The rate follows the farm", "%d DCMs, %g ms a slice each" % (line["dcms"], line["filter_ms"]),
                    "time, s", "slices stored per second")
    phases = line["phases"]
    figure.x_limits = (0, phases[-1]["until_s"])
    figure.y_limits = (0, None)
    figure.marks = [(phase["at_s"], phase["change"]) for phase in phases]
    figure.curves.append(("present DCMs", [at for phase in phases for at in (phase["at_s"], phase["until_s"])],
                          [phase["expected_hz"] for phase in phases for _ in range(2)], {"color": "C1"}))
    rate = line["rate_hz"]
    figure.curves.append(("rate", [line["rate_every_s"] * (i + 1) for i in range(len(rate))], rate,
                          {"color": "black", "marker": ".", "linestyle": ""}))
    return [figure]


def rcnp_figures(name, lines):
    if lines[0]["x_label"]:
        figure = Figure(name, lines[0]["title"], "", lines[0]["x_label"], "CPU time of a slice, ms")
        xs = [line["x"] for line in lines]
        for key, label in (("filter_cpu_ms", "filter"), ("transport_cpu_ms", "transport")):
            figure.curves.append((label, xs, [line[key] for line in lines], {"marker": "."}))
        figure.curves.append(("both", xs, [line["filter_cpu_ms"] + line["transport_cpu_ms"] for line in lines], {"marker": "."}))
        figure.y_limits = (0, None)
        return [figure]
    figure = Figure(name, lines[0]["title"], "", "decision latency t, ms", "P(T > t)")
    figure.log_x = figure.log_y = True
    for line in lines:
        above = [(us, share) for us, share in line["decision_above_us"] if us > 0 and share > 0]
        figure.curves.append((line["label"], [us / 1000 for us, _ in above], [share for _, share in above], {"steps": True}))
    return [figure, *buffer_figures(name, lines[0])]


def buffer_figures(name, line):
    """A source's buffer with the line's decision times: over time, and as a distribution."""
    if "buffers" not in line:
        return []
    over_time = Figure(name + "-buffer", "A source's buffer at 100 kHz and 100 MB/s", line["label"] + ", decisions packed N at a time",
                       "time, ms", "slices held (kB)")
    shares = Figure(name + "-buffer-distribution", over_time.title, over_time.about, "slices held, n (kB)", "P(held > n)")
    for buffer in line["buffers"]:
        label = "N = %d" % buffer["packed"]
        slices = buffer["slices"]
        over_time.curves.append((label, [buffer["sample_ms"] * sample for sample in range(len(slices))], slices, {}))
        held = sorted(slices)
        shares.curves.append((label, held, [1 - (below + 1) / len(held) for below in range(len(held))], {"steps": True}))
    over_time.y_limits = shares.y_limits = (0, None)
    return [over_time, shares]


def remote_figures(name, lines):
    """The local group's rate and the use of the line, in each round."""
    rate = Figure(name, "A local group beside a remote one", "line of %g Mb/s, %g ms in each direction"
                  % (lines[0]["line_mbit"], lines[0]["delay_ms"]), "round", "slices of the local group per second")
    line_use = Figure(name + "-line", "Payload on the long line", rate.about, "round", "of theory, %")
    curves = {}
    for line in lines:
        curves.setdefault(line["mode"], []).append(line)
    for mode, points in curves.items():
        rounds = [line["round"] + 1 for line in points]
        rate.curves.append((mode, rounds, [line["local_hz"] for line in points], {"marker": "."}))
        line_use.curves.append((mode, rounds, [100 * line["line_share"] for line in points], {"marker": "."}))
    rate.y_limits = line_use.y_limits = (0, None)
    return [rate, line_use]


def remote_idle_figures(name, lines):
    """The time of each request with its response."""
    figure = Figure(name, "Requests over a line that idles", "1 MB every %g s, %g Mb/s, %g ms there and back"
                    % (lines[0]["pause_s"], lines[0]["line_mbit"], 2 * lines[0]["delay_ms"]), "request", "response time, ms")
    for number, line in enumerate(lines):
        style = {"marker": ".", "color": "C%d" % number}
        figure.curves.append((line["label"], [at for at, _ in line["times_ms"]], [ms for _, ms in line["times_ms"]], style))
    figure.y_limits = (0, None)
    return [figure]


def filter_node_figures(name, lines):
    """Slices that a filter node takes, and the CPU time of its parts, over the input rate."""
    taken = Figure(name, "Slices that a filter node takes (CPUs x filters)", "ANTARES thesis, table 5.2", "input, kHz per module",
                   "slices taken, %")
    cost = Figure(name + "-cpu", "CPU time of a filter node (CPUs x filters)", "ANTARES thesis, table 5.2", "input, kHz per module",
                  "CPU time, % of real time (a filter, and transport dashed)")
    curves = {}
    for line in lines:
        if line["emulated"]:
            curves.setdefault(line["node"], []).append(line)
    for number, (node, points) in enumerate(curves.items()):
        style = {"marker": ".", "color": "C%d" % number}
        xs = [line["input_khz"] for line in points]
        taken.curves.append((node, xs, [100 - 100 * line["thrown_away"] / max(1, line["offered"]) for line in points], style))
        taken.marks.append((points[0]["paper_max_khz"], "paper, %s" % node))
        cost.curves.append((node, xs, [line["filter_percent"] for line in points], style))
        cost.curves.append(("", xs, [line["transport_percent"] for line in points], {**style, "linestyle": "--"}))
    taken.y_limits = cost.y_limits = (0, None)
    return [taken, cost]


def experiment_figures(name, lines):
    """Goodput and latency over the varied quantity, and the latency's distributions, of a paper's figure."""
    title = "%s, figure %s: %s" % (lines[0]["paper"], lines[0]["figure"], lines[0]["title"])
    about = "scale %g" % lines[0]["scale"]
    curves = {}
    for line in lines:
        curves.setdefault("%s, %s TCP" % (line["cure"], line["tcp"]), []).append(line)
    figures = []
    if lines[0]["paper"] == "mixed" and not lines[0]["x_label"]:
        return [_sources_figure(name, title, about, lines)]  # latencies are those of a farm that idles
    if lines[0].get("all_mbit"):
        return _failover_figures(name, title, about, lines[0])
    if lines[0]["x_label"]:
        axis = lines[0]["x_label"] + " (the paper's)"
        goodput = Figure(name + "-goodput", title, about, axis, "goodput, % of theory")
        latency = Figure(name + "-latency", title, about, axis, "latency, ms (mean, and p99 dashed)")
        for number, (label, points) in enumerate(curves.items()):
            style = {"marker": ".", "color": "C%d" % (number % 10)}
            xs = [line["x_paper"] for line in points]
            goodput.curves.append((label, xs, [100 * line["share_of_theory"] for line in points], style))
            latency.curves.append((label, xs, [line["mean_ms"] for line in points], style))
            latency.curves.append(("", xs, [line["p99_ms"] for line in points], {**style, "linestyle": "--"}))
        xs = [line["x_paper"] for line in lines]
        for figure in (goodput, latency):
            figure.log_x = min(xs) > 0 and max(xs) / min(xs) > LOG_FROM
        goodput.y_limits = (0, None)
        latency.log_y = True
        figures = [goodput, latency]
    figures += _traced_figures(name, title, about, curves)
    figures += _delay_figures(name, title, about, lines)
    if not any(line["histogram_ms"] for line in lines):
        return figures
    distribution = Figure(name + "-distribution", title, about, "latency, ms", "slices with at most this latency, %")
    for line in lines if len(lines) <= CURVES_MAX else [points[-1] for points in curves.values()]:
        total = sum(count for _, count in line["histogram_ms"])
        if not total:
            continue
        seen, ys = 0, []
        for _, count in line["histogram_ms"]:
            seen += count
            ys.append(100 * seen / total)
        label = "%s, %s TCP" % (line["cure"], line["tcp"])
        label += ", %g" % line["x_paper"] if line["x_label"] else ""
        distribution.curves.append((label, [ms + 1 for ms, _ in line["histogram_ms"]], ys, {"steps": True}))
    distribution.log_x = True
    return [*figures, distribution]


def coincidence_figures(name, lines):
    """Efficiency of the muon trigger over track length, and efficiency and purity over background and bursts."""
    figures = []
    own = [line for line in lines if line["varied"] == "length"]
    for suffix, key, label in (("floors", "by_floors", "level-1 floors of the track's own light"),
                               ("hits", "by_hits", "hits of the track")):
        figure = Figure("%s-%s" % (name, suffix), "Tracks found, by length", _trigger_setting(own, ("background_hz",)),
                        label, "tracks found, % of those with at least so many")
        figure.y_limits = (0, 105)
        for line in own:
            lengths = [length for length, _, _ in line[key] if length > 0]
            found = [[sum(part[at] for part in line[key] if part[0] >= length) for at in (1, 2)] for length in lengths]
            figure.curves.append(("%d modules, at least %d floors" % (line["modules"], line["minimum"]), lengths,
                                  [100 * part / whole for whole, part in found], {"marker": "."}))
        figures.append(figure)
    for varied, key, unit, label in (("background", "background_hz", 1000, "background of a module, kHz"),
                                     ("bursts", "burst_fraction", 0.01, "time that a floor spends in bursts, %")):
        own = [line for line in lines if line["varied"] == varied]
        figure = Figure("%s-%s" % (name, varied), "Efficiency and purity",
                        _trigger_setting(own, ("modules", "track_rate_hz")), label, "%")
        figure.y_limits = (0, 105)
        for number, minimum in enumerate(sorted({line["minimum"] for line in own})):
            points = [line for line in own if line["minimum"] == minimum]
            for what, style in (("efficiency", "-"), ("purity", "--")):
                figure.curves.append(("at least %d floors" % minimum if what == "efficiency" else "",
                                      [line[key] / unit for line in points], [100 * line[what] for line in points],
                                      {"marker": ".", "color": "C%d" % number, "linestyle": style}))
        figure.legend = [("long tracks found", "-"), ("events of a track", "--")]
        figures.append(figure)
    return [figure for figure in figures if figure.curves]


def _trigger_setting(lines, keys):
    """Returns the given settings of trigger points as text."""
    words = {"background_hz": lambda line: "background of %g kHz" % (line["background_hz"] / 1000),
             "modules": lambda line: "%d modules" % line["modules"],
             "track_rate_hz": lambda line: "%g tracks a second" % line["track_rate_hz"]}
    return ", ".join(words[key](line) for key in keys for line in lines[:1])


def _curve(figure, label, points, factor=1, steps=False):
    style = {"steps": True} if steps else {}
    figure.curves.append((label, [x for x, _ in points], [factor * y for _, y in points], style))


def _traced_figures(name, title, about, curves):
    """Of an experiment's runs with a network trace: link use, one slice's requests and responses, or queues."""
    figures = []
    for key, axis, y, factor in (
            ("use", "time, s", "use of the DCM's link in 10 ms, %", 100),
            ("responses", "time since the slice's first request, ms", "arrived at the DCM, kB", 1),
            ("requests", "time since the slice's first request, ms", "requests sent by the DCM, kB", 1)):
        figure = Figure("%s-%s" % (name, key), title, about, axis, y)
        for label, points in curves.items():
            for line in points:
                if line.get(key):
                    _curve(figure, label, line[key], factor, steps=True)
        if figure.curves:
            figure.y_limits = (0, None)
            figures.append(figure)
    queues = Figure(name + "-queues", title, about, "time since the slice's first request, ms", "queue, kB")
    for label, points in curves.items():
        for line in points:
            for port, queue in line.get("queues", {}).items():
                _curve(queues, "%s: %s" % (label, port), queue, steps=True)
    return figures + ([queues] if queues.curves else [])


def _failover_figures(name, title, about, line):
    """The DCMs' rate, and segments sent again, over time around a cut."""
    rate = Figure(name + "-rate", title, about, "time, s", "payload received, Mb/s")
    for label, key in (("all DCMs", "all_mbit"), ("affected DCMs", "affected_mbit"), ("the others", "others_mbit")):
        _curve(rate, label, line[key], steps=True)
    resent = Figure(name + "-resent", title, about, "time, s", "segments sent again in %g s" % line["resent"][0][0])
    _curve(resent, "all readouts", line["resent"], steps=True)
    for figure in (rate, resent):
        figure.y_limits = (0, None)
        figure.marks = [(line["cut_at_s"], "cut"), (line["cut_until_s"], "return")]
    return [rate, resent]


def _delay_figures(name, title, about, lines):
    """Of pushed slices: the delay of each fragment, and bars of the delays of all cures."""
    figures = []
    delays = Figure(name + "-delays", title, about, "slice", "delay of a fragment, ms")
    for line in lines:
        if line.get("delays"):
            delays.curves.append(("%s, %s TCP" % (line["cure"], line["tcp"]), [x for x, _ in line["delays"]],
                                  [y for _, y in line["delays"]], {"marker": ".", "linestyle": ""}))
    if delays.curves:
        delays.y_limits = (0, None)
        figures.append(delays)
    if any(line.get("bars") for line in lines):
        bars = Figure(name + "-bars", title, about, "", "delay of a slice, ms")
        bars.groups = ["%s, %s TCP" % (line["cure"], line["tcp"]) for line in lines]
        bars.log_y = True
        for label, key in (("mean", "mean_ms"), ("99 %", "p99_ms"), ("longest", "max_ms")):
            bars.bars.append((label, [line[key] or None for line in lines]))
        figures.append(bars)
    return figures


def antares_model_figures(name, lines):
    """The figures of chapter 4 of the ANTARES thesis, simulated."""
    figures = []
    reno = [line for line in lines if line["sender"] == "Reno"]
    for number, row, what in (("4.1", "tcp-direct-sector", "1 sector"), ("4.2", "tcp-direct-10-strings", "full detector")):
        for line in reno:
            if line["row"] != row or not line.get("delays"):
                continue
            plot = Figure("%s-%s" % (name, number), "Figure %s: delays, %s, TCP, direct transmission" % (number, what),
                          "simulated; %d of %d fragments" % (len(line["delays"]), line["delivered"]), "slice", "delay of a fragment, s")
            plot.curves.append(("Reno", [x for x, _ in line["delays"]], [y / 1000 for _, y in line["delays"]],
                                {"marker": ".", "linestyle": ""}))
            plot.y_limits = (0, None)
            figures.append(plot)
    if reno:
        bars = Figure(name + "-4.3", "Figure 4.3: TCP models", "simulated, Reno", "", "delay of a fragment, s")
        bars.groups = [line["label"] for line in reno]
        bars.log_y = True
        for label, key in (("mean", "mean_ms"), ("99 %", "p99_ms"), ("longest", "max_ms")):
            bars.bars.append((label, [line[key] / 1000 for line in reno]))
        figures.append(bars)
    for line in reno:
        if line["row"] != "tcp-bio" or not line.get("in_burst"):
            continue
        slices = line["in_burst"]
        total = sum(count for _, count in slices)
        plot = Figure(name + "-4.4", "Figure 4.4: LCMs in a burst, of %d" % line["lcms"], "simulated", "LCMs in a burst", "slices, %")
        plot.curves.append(("counted", [lcms for lcms, _ in slices], [100 * count / total for _, count in slices], {"marker": "."}))
        plot.y_limits = (0, None)
        figures.append(plot)
    return figures


def _sources_figure(name, title, about, lines):
    bars = Figure(name + "-sources", title, about, "", "use of a source's link, %")
    bars.groups = ["%s, %s TCP" % (line["cure"], line["tcp"]) for line in lines]
    for label, key in (("the source that sends least", "source_least"), ("the source that sends most", "source_most")):
        bars.bars.append((label, [100 * line[key] or None for line in lines]))
    bars.y_limits = (0, 110)
    return bars


def burst_figures(name, lines):
    """How many LCMs are in a burst, slice by slice, beside independent bursts of the same mean."""
    line = lines[0]
    total = sum(slices for _, slices in line["slices"])
    figure = Figure(name, "%s, figure %s: %s" % (line["paper"], line["figure"], line["title"]),
                    "mean %g, sigma %g" % (line["mean"], line["sigma"]), "LCMs in a burst", "slices, %")
    counts = [lcms for lcms, _ in line["slices"]]
    figure.curves.append(("counted", counts, [100 * slices / total for _, slices in line["slices"]], {"marker": "."}))
    share = line["mean"] / line["lcms"]
    figure.curves.append(("binomial", counts, [
        100 * math.comb(line["lcms"], n) * share**n * (1 - share)**(line["lcms"] - n) for n in counts], {"linestyle": "--"}))
    figure.y_limits = (0, None)
    return [figure]


def network_trace_figures(name, lines):
    """What `weir run --trace-network` left: use of the links in bins of 10 ms, queues, and request bytes."""
    ports, requesters, samples = lines[0]["ports"], lines[0]["requesters"], lines[1:]
    about = _count(len(samples), "sample")
    if lines[0]["samples_left_out"]:
        about += ", the last %d left out" % lines[0]["samples_left_out"]
    use = Figure(name + "-use", "Use of the links", about + "; bins of 10 ms", "time, s", "use, %")
    queues = Figure(name + "-queues", "Queues of the ports", about, "time, s", "queue, kB")
    requests = Figure(name + "-requests", "Bytes that hosts with DCMs sent", about, "time, s", "sent, kB")
    times = [sample["us"] / 1e6 for sample in samples]
    for i in _busiest(samples, "sent", len(ports)):
        bins = {}
        for sample in samples:
            bins[sample["us"] // 10000] = bins.get(sample["us"] // 10000, 0) + sample["sent"][i]
        most = ports[i]["rate_bits_per_s"] / 8 * 0.01
        whole = range(min(bins), max(bins) + 1)
        _curve(use, ports[i]["name"], [(at / 100, 100 * bins.get(at, 0) / most) for at in whole], steps=True)
    for i in _busiest(samples, "queue", len(ports)):
        _curve(queues, ports[i]["name"], [(at, sample["queue"][i] / 1000) for at, sample in zip(times, samples)], steps=True)
    for i in _busiest(samples, "requests", len(requesters)):
        sent, points = 0, []
        for at, sample in zip(times, samples):
            sent += sample["requests"][i]
            points.append((at, sent / 1000))
        _curve(requests, requesters[i], points, steps=True)
    figures = [figure for figure in (use, queues, requests) if figure.curves]
    for figure in figures:
        figure.y_limits = (0, None)
    return figures


def _busiest(samples, key, count):
    """Indices of the at most CURVES_MAX ports or hosts with the largest sums, in their order; none that are 0."""
    sums = [sum(sample[key][i] for sample in samples) for i in range(count)]
    most = sorted(range(count), key=lambda i: -sums[i])[:CURVES_MAX]
    return sorted(i for i in most if sums[i] > 0)


SAVED_RATE_S = 4  # processes report their counts once a second, so that a rate over less goes up and down with the reports


def alert_figures(name, lines):
    """The rate at which an alert is saved, over the run."""
    figure = Figure(name, "Saving an alert", "%.1f MB/s of data, alert %g s late" % (lines[0]["bytes_per_s"] / 1e6, lines[0]["late_s"]),
                    "time, s", "saved, MB/s")
    figure.x_limits = figure.y_limits = (0, None)
    for line in lines:
        if line.get("pair", 1) > 1:
            continue
        points = []
        for at, saved in line["bytes_saved"]:
            if not points or at >= points[-1][0] + SAVED_RATE_S:
                points.append((at, saved))
        pairs = list(zip(points, points[1:]))
        figure.curves.append((line["run"], [b[0] for _, b in pairs],
                              [(b[1] - a[1]) / (b[0] - a[0]) / 1e6 for a, b in pairs], {"steps": True}))
    limit = lines[-1]["save_bytes_per_s"] / 1e6
    ends = [0, max(at for line in lines for at, _ in line["bytes_saved"])]
    figure.curves.append(("limit of all DCMs", ends, [limit, limit], {"color": GREY, "linestyle": "--"}))
    return [figure]


def border_figures(name, lines):
    """Clusters that the filter `coincidence` finds near borders of time slices, with and without overlap."""
    figure = Figure(name, "Clusters near borders of time slices", _count(sum(line["clusters"] for line in lines), "cluster"),
                    "from the nearest border to a cluster's first hit, us", "found, %")
    for overlap in sorted({line["overlap_us"] for line in lines}):
        points = [((line["from_ns"] + line["until_ns"]) / 2000, 100 * line["found"] / line["clusters"])
                  for line in lines if line["overlap_us"] == overlap and line["clusters"]]
        _curve(figure, "overlap %g us" % overlap if overlap else "no overlap", points)
    figure.log_x = True
    figure.y_limits = (0, 105)
    return [figure]


KINDS = {
    "borders": border_figures,
    "antares-model": antares_model_figures,
    "bursts": burst_figures,
    "network-trace": network_trace_figures,
    "experiment": experiment_figures,
    "filter-node": filter_node_figures,
    "remote": remote_figures,
    "remote-idle": remote_idle_figures,
    "rcnp": rcnp_figures,
    "incast": network_figures,
    "all-to-all": network_figures,
    "field": field_figures,
    "assignment": assignment_figures,
    "changing-farm": changing_farm_figures,
    "burst": alert_figures,
    "coincidence": coincidence_figures,
}


def figures_of(name, lines):
    """Returns the plots of a file's lines. Raises ValueError: no bench of Weir's made them."""
    kind = lines[0].get("bench") if lines and all(isinstance(line, dict) for line in lines) else None
    if kind not in KINDS:
        raise ValueError("no line of a bench that is drawn: there are " + ", ".join(KINDS))
    return KINDS[kind](name, lines)


# ---- drawing

def _draw_curves(axes, figure):
    for label, x, y, style in figure.curves:
        style = dict(style)
        steps = {"drawstyle": "steps-post"} if style.pop("steps", False) else {}
        axes.plot(x, y, label=label or "_", linewidth=1.6, markersize=4, **steps, **style)
    for label, style in figure.legend:
        axes.plot([], [], color="black", linestyle=style, label=label)


def _draw_bars(axes, figure):
    width = 0.8 / len(figure.bars)
    for number, (label, values) in enumerate(figure.bars):
        places = [group - 0.4 + width * (number + 0.5) for group in range(len(values))]
        axes.bar([x for x, y in zip(places, values) if y is not None], [y for y in values if y is not None], width,
                 label=label)
    axes.set_xticks(range(len(figure.groups)), figure.groups, rotation=35, ha="right")


def _count_plainly(axis):
    """20, 50, 100 at a logarithmic axis."""
    from matplotlib import ticker

    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: "%g" % value))
    axis.set_minor_formatter(ticker.NullFormatter())


def draw(figure, path):
    import matplotlib

    matplotlib.use("svg")
    # Text as text, and the same bytes of the same numbers.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": figure.name, "font.family": "sans-serif"})
    from matplotlib import pyplot

    picture, axes = pyplot.subplots(figsize=(14 if figure.groups else 10, 5.4), layout="constrained")
    picture.suptitle(figure.title)
    axes.set_title(figure.about, fontsize=9)
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    axes.grid(True, color="0.85", axis="y" if figure.groups else "both")
    axes.set_axisbelow(True)
    if figure.log_x:
        axes.set_xscale("log")
        _count_plainly(axes.xaxis)
    if figure.log_y:
        axes.set_yscale("log")
        _count_plainly(axes.yaxis)
    _draw_bars(axes, figure) if figure.groups else _draw_curves(axes, figure)
    axes.set_xlim(*figure.x_limits)
    axes.set_ylim(*figure.y_limits)
    for x, text in figure.marks:
        axes.axvline(x, color=GREY, linestyle="--", linewidth=1)
        axes.annotate(text, (x, figure.marks_at), xycoords=("data", "axes fraction"), rotation=90, color=GREY, fontsize=8,
                      xytext=(3, 0), textcoords="offset points")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    picture.savefig(path, metadata={"Date": None})
    pyplot.close(picture)


def show_in(page, figures):
    """Adds those pictures to a Markdown file that it does not show yet."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for figure in figures:
        if "(%s.svg)" % figure.name not in text:
            text += "\n![%s](%s.svg)\n" % (figure.title, figure.name)
    with open(page, "w", encoding="utf-8") as file:
        file.write(text)


def plot(path):
    """The pictures of one file, beside it. Returns their paths."""
    folder, file_name = os.path.split(path)
    name = os.path.splitext(file_name)[0]
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    figures = figures_of(name, lines)
    paths = []
    for figure in figures:
        paths.append(os.path.join(folder, figure.name + ".svg"))
        draw(figure, paths[-1])
    page = os.path.join(folder, name + ".md")
    if os.path.exists(page):
        show_in(page, figures)
    return paths


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 0 if arguments and arguments[0] in ("-h", "--help") else 2
    try:
        for path in arguments:
            for made in plot(path):
                print(made)
    except ImportError:
        print("python3 -m weir_daq.plots: matplotlib is not installed: Debian's package python3-matplotlib", file=sys.stderr)
        return 1
    except KeyError as error:
        print("%s: a line has no %s" % (path, error), file=sys.stderr)
        return 1
    except (OSError, ValueError, TypeError) as error:
        print("%s: %s" % (path, error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
