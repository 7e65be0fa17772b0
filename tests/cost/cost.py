#!/usr/bin/env python3
"""What a fragment and a slice cost, counted: instructions, system calls, allocations, copied bytes, of each role.

Each point but `simulated…` is a whole farm, run twice with more slices the second time; what both have alike (start, farm
file, end) goes out by the difference. Instructions and system calls are valgrind's (callgrind), with every process under
it, so that they are as fast to each other as they are without; allocations and copied bytes are counted by a preloaded
library, natively. The points `simulated…` are the nodes of simulated farms, whose passes are the same on every machine.

    cost.py BUILD                     compares with figures.json; status 1: something costs more
    cost.py BUILD --update            writes figures.json, of this compiler and C library
    cost.py BUILD --point 64B-4x4     only this one, compared with nothing
    cost.py BUILD --ways              each build.by, compared with nothing
"""

import argparse
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FIGURES = os.path.join(HERE, "figures.json")
ROLES = ("readout", "dcm", "supervisor", "writer")
SKIPPED = 77

# name: (bytes of a fragment, sources of a readout, slices of the short and of the long run, kind). "stored": a writer stores
# all slices. "ring": DCMs keep all slices for alerts, and their filter rejects them, so that the writer has nothing to do.
POINTS = {
    "64B-4x4": (64, 4, (4000, 16000), ""),
    "64B-4x1": (64, 1, (8000, 32000), ""),
    "1KiB-4x4": (1024, 4, (4000, 16000), ""),
    "1KiB-4x4-ring": (1024, 4, (4000, 16000), "ring"),
    "64KiB-4x4-stored": (65536, 4, (300, 1200), "stored"),
}
READOUTS = 4
SIMULATED = "simulated"
# name: (seeds, rates). The farms of the others have front-ends that deliver by themselves, and one build.by.
SIMULATIONS = {
    SIMULATED: ("1..10", "normal"),
    "simulated-trigger": ("1..6", "by-trigger"),
    "simulated-number": ("1..6", "by-number"),
    "simulated-time": ("1..6", "by-time"),
}
KINDS = {**{point: shape[3] for point, shape in POINTS.items()}, **{point: SIMULATED for point in SIMULATIONS}}

# A figure that exceeds the committed one by this share is a failure; one that is lower by as much must be committed to
# figures.json. Instructions differ by up to 1.7 % between machines. Figures that depend on the timing of passes have wider
# limits, and so do all figures that include a disk's time. Beside other work a pass serves more slices, with half of the
# system calls, so --update takes them on a quiet machine.
TOLERANCE = {"instructions": 0.03, "system_calls": 0.50, "allocations": 0.25, "copied_bytes": 0.05}
STORED_TOLERANCE = 0.15
# The slices of a pass share the supervisor's work for it, and their number depends on the machine: 13 or 30 slices, 9 %
# more instructions a slice. Where a disk does not set the pace, the cost of the passes is subtracted; it has its limit at
# the point `simulated`, with the same passes everywhere. About 1 % of the difference remains.
SUPERVISOR_PASS = "weir::supervisor::SupervisorNode::pass("
SUPERVISOR_PASS_INSTRUCTIONS = 4500
SUPERVISOR_TOLERANCE = 0.04
# At a few slices per second a role's work is mostly waking up, and how often it wakes depends on the disk and on the
# machine's load: a slower disk beside a compiler doubled it. More than four times as much is a failure.
PACED = {("64KiB-4x4-stored", role, what)
         for role in ("readout", "supervisor") for what in ("instructions", "system_calls", "allocations")} | {
    ("64KiB-4x4-stored", "writer", "system_calls")}
PACED_TOLERANCE = 3
TRIES = 3  # a real increase shows in every try: a busy machine can only add
LEAST = {"instructions": 10, "system_calls": 0.05, "allocations": 0.05, "copied_bytes": 5}  # smaller figures are not compared

FARM = """farm: cost
run: {{restart: never}}
trigger: {{mode: max, first_slice: 1}}
supervisor: {{in_flight_max: 64, pending_max: 64, status_interval_ms: 60000}}
source: {{kind: dummy, distribution: fixed, size_bytes: {size}, size_bytes_max: {size}}}
readout: {{count: {readouts}, sources_per_readout: {sources}, buffer_bytes: 134217728}}
dcm: {{count: 1, credits: 32, shaper: none, deadline_ms: 60000, fragment_bytes_max: {most}, buffer_bytes: 134217728}}
filter: {filter}
burst: {{buffer_bytes: {ring}}}
writer: {{count: {writers}, buffer_bytes: 134217728, sync_interval_ms: 20}}
"""

# name: (build.by of the front-ends, sections of the farm). Each runs for as long at two rates: the difference cancels a
# role's work for each second.
WAYS = {
    "trigger": ("trigger", "trigger: {{mode: rate, rate_hz: {rate}}}\nbuild: {{by: trigger}}\n"),
    "number": ("number", "build: {{by: number}}\n"),
    "time": ("time", "trigger: {{mode: clock, slice_ms: {ms}}}\nbuild: {{by: time}}\n"),
    "time, each piece in two slices": (
        "time", "trigger: {{mode: clock, slice_ms: {ms}}}\nbuild: {{by: time, overlap_us: {overlap_us}}}\n"),
}
WAY_RATES = (100, 500)
WAY_SECONDS = 4
WAY_SIZE = 64
WAY_FARM = """farm: cost
run: {{restart: never}}
supervisor: {{status_interval_ms: 60000}}
{build}source: {{kind: plugin, plugin: '{plugin}', wait_ms: 60000, parameters: {{by: {by}, rate_hz: {rate}, size_bytes: {size}}}}}
readout: {{count: {readouts}, sources_per_readout: 4}}
dcm: {{count: 1, shaper: none, deadline_ms: 60000}}
filter: {{plugin: accept-all}}
"""

ACCEPTING = "{plugin: accept-all}"
REJECTING = "{plugin: prescale, parameters: {n: 1000000000}}"
RING_BYTES = 16 << 20  # full in the short run already

WRAPPED = """#!/bin/sh
exec {prefix} "{program}" "$@"
"""


class Failed(Exception):
    """A sentence for people."""


def wrap(build, folder, prefix_of):
    """A folder of Weir's executables in which each role's is started by `prefix_of(role)`."""
    os.makedirs(folder)
    programs = os.path.join(build, "bin")
    for name in os.listdir(programs):
        program = os.path.join(programs, name)
        role = name[len("weir-"):]
        if name == "weir":  # finds the others beside itself, so it has to be here
            shutil.copy2(program, folder)
        elif role in ROLES:
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(WRAPPED.format(prefix=prefix_of(role), program=program))
            os.chmod(path, 0o755)
        else:
            os.symlink(program, os.path.join(folder, name))
    return os.path.join(folder, "weir")


def farm_of(point):
    size, sources, _, kind = POINTS[point]
    return FARM.format(size=size, most=max(4096, size), sources=sources, readouts=READOUTS, writers=int(kind != ""),
                       filter=REJECTING if kind == "ring" else ACCEPTING, ring=RING_BYTES if kind == "ring" else 0)


def farm_of_way(build, way, rate):
    by, sections = WAYS[way]
    return WAY_FARM.format(build=sections.format(rate=rate, ms=1000 / rate, overlap_us=round(0.5e6 / rate)),
                           plugin=os.path.join(build, "tests", "cost-ways.so"), by=by, rate=rate, size=WAY_SIZE,
                           readouts=READOUTS)


def run(weir, folder, text, slices, out):
    farm = os.path.join(folder, "farm.yaml")
    with open(farm, "w", encoding="utf-8") as file:
        file.write(text)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    done = subprocess.run([weir, "run", farm, "--quiet", "--out", os.path.join(folder, "run"), "--set", "run.slices=%d" % slices],
                          env=dict(os.environ, WEIR_COST_OUT=out), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300, check=False)
    shutil.rmtree(os.path.join(folder, "run"), ignore_errors=True)
    if done.returncode != 0:
        raise Failed("a farm ended with status %d:\n%s\n%s" % (done.returncode, text, done.stdout))


def calls_in(path):
    """Yields (caller, callee, how many calls, instructions until they returned) of a callgrind profile."""
    names = {}
    caller = callee = ""
    count = 0

    def name(text):
        number, _, rest = text.strip().partition(" ")
        if rest:
            names[number] = rest
        return names[number]

    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("fn="):
                caller = name(line[3:])
            elif line.startswith("cfn="):
                callee = name(line[4:])
            elif line.startswith("calls="):
                count = int(line[len("calls="):].split()[0])
            elif count:
                yield caller, callee, count, int(line.split()[1])
                count = 0


def entered(path, namespace):
    """Instructions between a call from outside into functions of the namespace and its return."""
    return sum(instructions for caller, callee, _, instructions in calls_in(path)
               if callee.startswith(namespace) and not caller.startswith(namespace))


def passes(path):
    return sum(count for _, callee, count, _ in calls_in(path) if callee.startswith(SUPERVISOR_PASS))


def counted_by_valgrind(out, kind):
    """{role: {"instructions", "system_calls"}}, over all its processes."""
    counts = {}
    for name in os.listdir(out):
        role, log = re.match(r"([a-z]+)\.\d+\.(\w+)", name).groups()
        of = counts.setdefault(role, {"instructions": 0, "system_calls": 0})
        with open(os.path.join(out, name), encoding="utf-8", errors="replace") as file:
            if log == "callgrind":
                of["instructions"] += next(int(line.split()[1]) for line in file if line.startswith(("summary:", "totals:")))
            else:
                # A call that may block is logged twice: when it begins, and when it ends. Without valgrind the time is read
                # without a call.
                of["system_calls"] += sum(1 for line in file if line.startswith("SYSCALL[") and "... [async] -->" not in line
                                          and " sys_clock_gettime" not in line)
        if role == "supervisor" and log == "callgrind" and kind != "stored":
            of["instructions"] -= SUPERVISOR_PASS_INSTRUCTIONS * passes(os.path.join(out, name))
    return counts


def counted_by_preload(out, _):
    """{role: {"allocations", "copied_bytes"}}, over all its processes."""
    counts = {}
    for name in os.listdir(out):
        with open(os.path.join(out, name), encoding="utf-8") as file:
            words = file.read().split()
        of = counts.setdefault(name.split(".")[0], {"allocations": 0, "copied_bytes": 0})
        of["allocations"] += int(words[0])
        of["copied_bytes"] += int(words[1])
    return counts


def measure(build, point):
    """{role: {"per": "fragment" or "slice", what: how many}}"""
    if point in SIMULATIONS:
        return measure_simulated(build, *SIMULATIONS[point])
    _, sources, lengths, kind = POINTS[point]
    return measure_farms(build, [(farm_of(point), slices) for slices in lengths], sources, kind)


def measure_way(build, way):
    return measure_farms(build, [(farm_of_way(build, way, rate), WAY_SECONDS * rate) for rate in WAY_RATES], 4, "way")


def measure_farms(build, farms, sources, kind):
    """As measure(), from the difference of two farms: (farm file, slices) of each."""
    preload = os.path.join(build, "tests", "libcost_counter.so")
    ways = (
        (counted_by_valgrind, lambda role: "valgrind --tool=callgrind --trace-syscalls=yes "
                                           "--callgrind-out-file=\"$WEIR_COST_OUT/%s.%%p.callgrind\" "
                                           "--log-file=\"$WEIR_COST_OUT/%s.%%p.log\"" % (role, role)),
        (counted_by_preload, lambda role: "env LD_PRELOAD=\"%s\" WEIR_COST_FILE=\"$WEIR_COST_OUT/%s.$$.counts\"" % (preload, role)),
    )
    figures = {}
    for read, prefix_of in ways:
        with tempfile.TemporaryDirectory() as folder:
            weir = wrap(build, os.path.join(folder, "bin"), prefix_of)
            counts = []
            for text, slices in farms:
                out = os.path.join(folder, "out")
                run(weir, folder, text, slices, out)
                counts.append(read(out, kind))
        short, long = counts
        for role in long:
            if role == "writer" and kind != "stored":
                continue
            per = "fragment" if role in ("readout", "dcm") else "slice"
            units = (farms[1][1] - farms[0][1]) * (READOUTS * sources if per == "fragment" else 1)
            of = figures.setdefault(role, {"per": per})
            for what in long[role]:
                of[what] = round((long[role][what] - short[role][what]) / units, 3)
    return figures


def measure_simulated(build, seeds, rates):
    """As measure(), for the nodes of simulated farms without faults."""
    program = os.path.join(build, "tests", "weir-sim")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=%s/%%p" % folder, program, "--seeds", seeds,
                               "--rates", rates, "--no-faults", "--jobs", "1", "--quiet"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, timeout=600, check=False)
        units = re.search(r" (\d+) slices of (\d+) fragments", done.stdout)
        if done.returncode != 0 or units is None:
            raise Failed("the simulated farms ended with status %d:\n%s" % (done.returncode, done.stdout))
        profiles = [os.path.join(folder, name) for name in os.listdir(folder)]
        slices, fragments = (int(number) for number in units.groups())
        figures = {}
        for role in ROLES:
            of_fragment = rates != "normal" and role in ("readout", "dcm")
            instructions = sum(entered(profile, "weir::%s::" % role) for profile in profiles)
            figures[role] = {"per": "fragment" if of_fragment else "slice",
                             "instructions": round(instructions / (fragments if of_fragment else slices), 3)}
        return figures


def measure_side_by_side(build, points):
    """{point: measure(point)}, several at a time: other load does not change the counts of a simulation."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(points, pool.map(lambda point: measure(build, point), points)))


def toolchain(build):
    """Conditions other than Weir that the counts depend on: figures of different ones are not comparable."""
    said = glob.glob(os.path.join(build, "CMakeFiles", "*", "CMakeCXXCompiler.cmake"))
    if len(said) != 1:
        raise Failed("%s is not a CMake build folder" % build)
    with open(said[0], encoding="utf-8") as file:
        compiler = dict(re.findall(r'set\(CMAKE_CXX_COMPILER_(ID|VERSION) "([^"]*)"\)', file.read()))
    text = subprocess.run(["ldd", "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
    libc = re.search(r"(\d+\.\d+)\s*$", text.splitlines()[0])
    return "%s %s, glibc %s" % (compiler["ID"], compiler["VERSION"].split(".")[0], libc.group(1) if libc else "unknown")


def least(measured, again):
    """Of two measurements of a point, the lower of each figure."""
    return {role: {what: figure if what == "per" else min(figure, again.get(role, {}).get(what, figure))
                   for what, figure in figures.items()} for role, figures in measured.items()}


def compare(point, measured, committed):
    """Lines for people, and how many of them are too much."""
    lines = []
    dearer = 0
    for role in ROLES:
        for what in TOLERANCE:
            before = committed.get(role, {}).get(what)
            now = measured.get(role, {}).get(what)
            if now is None and before is not None:
                lines.append("%-18s %-11s %-13s was not measured" % (point, role, what.replace("_", " ")))
                dearer += 1
            if now is None:
                continue
            verdict = ""
            allowed = max(TOLERANCE[what], STORED_TOLERANCE if KINDS[point] == "stored" else 0)
            if role == "supervisor" and KINDS[point] != SIMULATED:
                allowed = max(allowed, SUPERVISOR_TOLERANCE)
            if (point, role, what) in PACED:
                allowed = PACED_TOLERANCE
            if before is not None and abs(now - before) > max(allowed * before, LEAST[what]):
                dearer += now > before
                verdict = "  MORE" if now > before else "  cheaper: --update"
            change = "" if not before else "  %+.1f %%" % (100 * (now - before) / before)
            lines.append("%-18s %-11s %-13s %10.2f a %-8s%s%s" % (
                point, role, what.replace("_", " "), now, measured[role]["per"], change, verdict))
    return lines, dearer


def print_ways(build):
    print("| `build.by` | readouts: instructions, system calls, allocations, bytes copied a fragment | DCM | supervisor, a slice |")
    print("| --- | --- | --- | --- |")
    for way in WAYS:
        figures = measure_way(build, way)
        cells = ["%(instructions).0f, %(system_calls).3f, %(allocations).3f, %(copied_bytes).0f" % figures[role]
                 for role in ("readout", "dcm", "supervisor")]
        print("| %s | %s |" % (way, " | ".join(cells)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--point", choices=KINDS)
    parser.add_argument("--ways", action="store_true")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    if shutil.which("valgrind") is None:
        print("SKIPPED: valgrind is not installed (Debian's package of that name)")
        return SKIPPED
    if options.ways:
        print_ways(build)
        return 0
    with open(FIGURES, encoding="utf-8") as file:
        committed = json.load(file)
    here = toolchain(build)
    known = committed.setdefault(here, {})
    points = [options.point] if options.point else list(KINDS)
    compares = not options.update and not options.point
    if compares and set(known) != set(KINDS):
        print("SKIPPED: figures.json has not all points of %s; --update writes them" % here)
        return SKIPPED
    dearer = 0
    measured_first = measure_side_by_side(build, [point for point in points if point in SIMULATIONS])
    for point in points:
        measured = measured_first.get(point) or measure(build, point)
        lines, more = compare(point, measured, known[point] if compares else {})
        for _ in range(TRIES - 1):
            if not more:
                break
            measured = least(measured, measure(build, point))
            lines, more = compare(point, measured, known[point])
        dearer += more
        print("\n".join(lines), flush=True)
        if options.update:
            known[point] = measured
    if options.update:
        with open(FIGURES, "w", encoding="utf-8") as file:
            json.dump(committed, file, indent=1, sort_keys=True)
            file.write("\n")
        return 0
    if dearer:
        print("%d figure(s) are above what tests/cost/figures.json allows: make it cheaper, or say in the commit why it is "
              "worth that, with --update" % dearer)
    return 1 if dearer else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        print(failure)
        sys.exit(1)
