#!/usr/bin/env python3
"""Does saving an alert disturb a run? Measures a farm at half of its storing rate, without and with alerts.

    tests/burst/figures.py [--bin FOLDER] [--out FILE.jsonl] [--late S] [--before S] [--after S] [--rate HZ]
                           [--folder FOLDER]

First the storing rate: every slice is accepted, as fast as the farm can. Then two runs at half of that rate. In the second, two
overlapping alerts come `late` seconds after their event. Each run is a line of JSON. The statements at the end are checked: no
veto, p99 at most 1.2 times, both alerts whole, every saved byte as the source made it. The status is 1 if one does not hold. --rate
gives the slice rate instead of measuring it, and p99 is not judged: for a busy machine.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

READOUTS, SOURCES, DCMS = 2, 4, 2
FRAGMENT_BYTES = 1000
SLICE_BYTES = READOUTS * SOURCES * FRAGMENT_BYTES
RECORD_BYTES = SLICE_BYTES + 1000  # with its table, generously
SAVE_SHARE = 0.1  # of the storing rate, for each DCM
P99_MAX = 1.2
SAMPLE_S = 0.5


class Farm:
    """A farm of `weir run` in a folder of its own."""

    def __init__(self, weir, trigger, seconds, burst):
        self.weir = weir
        self.folder = tempfile.mkdtemp(prefix="weir-burst-")
        self.file = os.path.join(self.folder, "farm.yaml")
        self.connect = ""
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(f"""farm: burst-figures
run: {{out: "{self.folder}/out", duration_s: {seconds}}}
trigger: {trigger}
supervisor: {{pending_max: 10000, in_flight_max: 20000}}
source: {{kind: dummy, size_bytes: {FRAGMENT_BYTES}}}
readout: {{count: {READOUTS}, sources_per_readout: {SOURCES}}}
dcm: {{count: {DCMS}}}
filter: {{plugin: accept-all}}
writer: {{count: 1}}
burst: {burst}
""")
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([weir, "run", self.file, "--summary", self.folder + "/end.json"], stdout=log,
                                            stderr=subprocess.STDOUT, cwd=self.folder)

    def ctl(self, *words):
        """Runs `weir ctl` with the address that the farm has printed."""
        while not self.connect and self.process.poll() is None:
            with open(self.log, encoding="utf-8") as log:
                found = re.search(r"--connect (\S+)", log.read())
            self.connect = found[1] if found else ""
            time.sleep(0 if found else 0.1)
        return subprocess.run([self.weir, "ctl", "--connect", self.connect, *words], cwd=self.folder, capture_output=True, text=True,
                              check=False)

    def counters(self):
        """Returns the sum of each counter over all processes; empty before run control answers."""
        answer = self.ctl("--json", "status")
        sums = {}
        if answer.returncode == 0:
            for node in json.loads(answer.stdout)["nodes"]:
                for name, value in node.get("report", {}).get("counters", {}).items():
                    sums[name] = sums.get(name, 0) + int(value)
        return sums

    def sample(self, begin, samples, until=None):
        """Appends (seconds since `begin`, bytes saved) until the end of the run, or until a counter has a value."""
        while self.process.poll() is None:
            counters = self.counters()
            if counters:
                samples.append([round(time.monotonic() - begin, 2), counters.get("burst.bytes_saved", 0)])
            if until and counters.get(until[0], 0) >= until[1]:
                return
            time.sleep(SAMPLE_S)

    def end(self):
        """Waits for the end; returns the summary."""
        self.process.wait()
        try:
            with open(self.folder + "/end.json", encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            with open(self.log, encoding="utf-8") as file:
                sys.exit("weir run ended without a summary:\n" + file.read())

    def remove(self):
        shutil.rmtree(self.folder)


def storing_rate(weir):
    farm = Farm(weir, "{mode: max}", 8, "{buffer_bytes: 0}")
    summary = farm.end()
    farm.remove()
    return summary["stored"] / summary["duration_s"]


def line_of(name, rate, summary):
    return {
        "bench": "burst", "run": name, "rate_hz": round(rate, 1), "bytes_per_s": round(rate * SLICE_BYTES),
        "triggered": summary["triggered"], "vetoed": sum(summary["vetoed"].values()), "stored": summary["stored"],
        "p50_us": summary["decision_latency_us"]["p50"], "p99_us": summary["decision_latency_us"]["p99"],
        "duration_s": summary["duration_s"], "balanced": summary["ledger_balanced"],
        "alerts": [{key: burst[key] for key in ("asked", "saved", "too_old", "no_room", "disk_slow", "disk_failed", "refused", "lost")}
                   for burst in summary.get("bursts", [])],
    }


def read_back(weir, folder):
    """Returns (slices in the folder, fragments with a byte that is not the source's, missing fragments)."""
    answer = subprocess.run([weir, "filter", "try", "verify", folder, "--json"], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        sys.exit(f"weir filter try verify {folder}: {answer.stdout}{answer.stderr}")
    totals = json.loads(answer.stdout.splitlines()[-1])
    counters = totals["counters"]
    return int(totals["slices"]), int(counters["verify_mismatch"]), int(counters["verify_absent"])


def measure(weir, options, rate, with_alerts):
    """Returns a run's line."""
    seconds = options.late + options.before + options.after + 3
    ring = int(1.5 * rate * RECORD_BYTES * (options.late + options.before + options.after + 5) / DCMS)
    save = int(2 * rate * SLICE_BYTES * SAVE_SHARE)
    memory = f"buffer_bytes: {ring}"
    if options.folder:
        memory = f"buffer_bytes: {max(ring // 10, 1 << 20)}, disk_bytes: {ring + (2 << 20)}, folder: {options.folder}"
    farm = Farm(weir, f"{{mode: rate, rate_hz: {rate:.1f}}}", seconds,
                f"{{{memory}, frozen_share: 0.9, save_bytes_per_s: {save}}}")
    samples = []
    begin = time.monotonic()
    if with_alerts:
        farm.sample(begin, samples, ("triggered", rate * (options.late + options.before)))
        first = [options.late + options.before, options.after - options.late]
        second = [options.late + options.before / 2, options.after - options.late + 1]
        for before, after in (first, second):
            answer = farm.ctl("burst", "--before", str(before), "--after", str(after), "--reason", "event")
            if answer.returncode != 0:
                sys.exit(f"weir ctl burst: {answer.stderr}")
    farm.sample(begin, samples)
    line = line_of("alerts" if with_alerts else "quiet", rate, farm.end())
    line["save_bytes_per_s"] = DCMS * save
    line["late_s"], line["before_s"], line["after_s"] = options.late, options.before, options.after
    for number, alert in enumerate(line["alerts"], 1):
        alert["on_disk"], alert["wrong"], alert["absent"] = read_back(weir, f"{farm.folder}/out/run-000001-burst-{number}")
    line["bytes_saved"] = samples
    farm.remove()
    return line


def statements_of(quiet, alerts, with_p99):
    """Returns [(sentence, whether it holds)]."""
    # Nearly all triggers that fell due in the window, less the vetoed ones of the whole run.
    least = 0.95 * alerts["rate_hz"] * (alerts["before_s"] + alerts["after_s"]) - alerts["vetoed"]
    one, two = alerts["alerts"]
    statements = [
        (f"no trigger is vetoed: {quiet['vetoed']} without alerts, {alerts['vetoed']} with", quiet["vetoed"] + alerts["vetoed"] == 0),
        (f"both alerts are whole: {one['saved']} of {one['asked']} and {two['saved']} of {two['asked']} slices",
         all(each["saved"] == each["asked"] == each["on_disk"] for each in (one, two)) and one["asked"] >= least),
        (f"every byte is the source's: {one['wrong'] + two['wrong']} wrong, {one['absent'] + two['absent']} missing fragments",
         one["wrong"] + two["wrong"] + one["absent"] + two["absent"] == 0),
        ("both ledgers balance", quiet["balanced"] and alerts["balanced"]),
    ]
    ratio = alerts["p99_us"] / quiet["p99_us"]
    p99 = f"{quiet['p99_us']} us without, {alerts['p99_us']} us with alerts, {ratio:.2f} times"
    if with_p99:
        statements.append((f"p99 at most {P99_MAX} times: {p99}", ratio <= P99_MAX))
    else:
        print("p99: " + p99, file=sys.stderr)
    return statements


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--bin", default=os.path.join(here, "../../build/release/bin"), help="folder of the executables")
    parser.add_argument("--out", help="file for the lines, besides standard output")
    parser.add_argument("--late", type=float, default=30, help="seconds from the event to the alert")
    parser.add_argument("--before", type=float, default=10, help="T1: window before the event, s")
    parser.add_argument("--after", type=float, default=5, help="T2: window after the event, s")
    parser.add_argument("--rate", type=float, help="slices/s, instead of half of the measured storing rate")
    parser.add_argument("--folder", help="folder for rings on disk, of which memory holds a tenth; without it rings are in memory")
    options = parser.parse_args()
    weir = os.path.abspath(os.path.join(options.bin, "weir"))
    rate = options.rate
    if not rate:
        full = storing_rate(weir)
        print(f"storing rate: {full:.0f} slices/s, {full * SLICE_BYTES / 1e6:.1f} MB/s", file=sys.stderr)
        rate = full / 2
    lines = [measure(weir, options, rate, with_alerts) for with_alerts in (False, True)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    sys.stdout.write(text)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)
    statements = statements_of(*lines, with_p99=not options.rate)
    for sentence, holds in statements:
        print(("holds: " if holds else "DOES NOT HOLD: ") + sentence, file=sys.stderr)
    return 0 if all(holds for _, holds in statements) else 1


if __name__ == "__main__":
    sys.exit(main())
