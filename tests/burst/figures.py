#!/usr/bin/env python3
"""Does saving an alert disturb a run? Measures a farm at half of its storing rate, without and with alerts.

    tests/burst/figures.py [--bin FOLDER] [--out FILE.jsonl] [--late S] [--before S] [--after S] [--saving S] [--rate HZ]
                           [--fragment-bytes N] [--pairs N] [--folder FOLDER] [--out-folder FOLDER]

First the storing rate: every slice is accepted, as fast as the farm can. Then pairs of runs at half of that rate. In the second of a
pair, two overlapping alerts come `late` seconds after their event, and the run continues for `saving` seconds. Percentiles are those of
the slices decided in that time, in both runs. Each run is a line of JSON, with the part of the machine's CPU time that the farm's
processes had. The statements at the end are checked: no veto, p99 at most 1.2 times (medians of the pairs), both alerts whole, every
saved byte as the source made it. The status is 1 if one does not hold. --rate gives the slice rate instead of measuring it, and p99
is not judged: for a busy machine.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

READOUTS, SOURCES, DCMS = 2, 4, 2
RECORD_HEAD_BYTES = 1000  # of a slice's record: its table, generously
SAVE_SHARE = 0.1  # of the storing rate, for each DCM
P99_MAX = 1.2
SAMPLE_S = 0.5


class Farm:
    """A farm of `weir run` in a folder of its own."""

    def __init__(self, options, trigger, seconds, burst):
        self.weir = options.weir
        self.folder = tempfile.mkdtemp(prefix="weir-burst-", dir=options.out_folder)
        self.file = os.path.join(self.folder, "farm.yaml")
        self.connect = ""
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(f"""farm: burst-figures
run: {{out: "{self.folder}/out", duration_s: {seconds}}}
trigger: {trigger}
supervisor: {{pending_max: 10000, in_flight_max: 20000}}
source: {{kind: dummy, size_bytes: {options.fragment_bytes}}}
readout: {{count: {READOUTS}, sources_per_readout: {SOURCES}}}
dcm: {{count: {DCMS}}}
filter: {{plugin: accept-all}}
writer: {{count: 1}}
burst: {burst}
""")
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([self.weir, "run", self.file, "--summary", self.folder + "/end.json"], stdout=log,
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

    def reports(self):
        """Returns the last report of each process; empty before run control answers."""
        answer = self.ctl("--json", "status")
        if answer.returncode != 0:
            return []
        return [node.get("report", {}) for node in json.loads(answer.stdout)["nodes"]]

    def sample(self, begin, samples, until=None):
        """Appends (seconds since `begin`, bytes saved) until the end of the run, or until a counter has a value.

        Returns the last reports of a run that has not ended."""
        last = []
        while self.process.poll() is None:
            reports = self.reports()
            counters = sum_of_counters(reports)
            if counters:
                samples.append([round(time.monotonic() - begin, 2), counters.get("burst.bytes_saved", 0)])
            if until and counters.get(until[0], 0) >= until[1]:
                return reports
            last = reports or last
            time.sleep(SAMPLE_S)
        return last

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


def sum_of_counters(reports):
    sums = {}
    for report in reports:
        for name, value in report.get("counters", {}).items():
            sums[name] = sums.get(name, 0) + int(value)
    return sums


def decision_times(reports):
    """Returns the number of slices by bucket of their decision latency, over all DCMs."""
    counts = {}
    for report in reports:
        for histogram in report.get("histograms", []):
            if histogram["name"] == "decision_latency_us":
                for bucket, count in zip(histogram.get("bucket", []), histogram.get("count", [])):
                    counts[int(bucket)] = counts.get(int(bucket), 0) + int(count)
    return counts


def percentile(counts, percent):
    """Returns the value that `percent` of the values do not exceed, at the end of its bucket (metrics/histogram.hpp), in us."""
    wanted, seen = sum(counts.values()) * percent / 100, 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= wanted:
            shift = max(bucket // 32 - 1, 0)
            return ((bucket - shift * 32 + 1) << shift) - 1
    return 0


class CpuShare:
    """The part of the machine's CPU time that the farm's processes use between two reports of each."""

    def __init__(self, reports):
        self.begin = self.read(reports)

    @staticmethod
    def read(reports):
        return {report["name"]: (int(report.get("now_ns", 0)) / 1e9, report.get("gauges", {}).get("process.cpu_s", 0))
                for report in reports if "name" in report}

    def share(self, reports):
        share = 0
        for name, (at, used) in self.read(reports).items():
            before, had = self.begin.get(name, (0, 0))
            share += (used - had) / (at - before) if at > before else 0
        return round(share / os.cpu_count(), 3)


def storing_rate(options):
    farm = Farm(options, "{mode: max}", 8, "{buffer_bytes: 0}")
    summary = farm.end()
    farm.remove()
    return summary["stored"] / summary["duration_s"]


def line_of(name, pair, rate, slice_bytes, summary):
    return {
        "bench": "burst", "run": name, "pair": pair, "rate_hz": round(rate, 1), "bytes_per_s": round(rate * slice_bytes),
        "triggered": summary["triggered"], "vetoed": sum(summary["vetoed"].values()), "stored": summary["stored"],
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


def measure(options, pair, rate, with_alerts):
    """Returns a run's line."""
    slice_bytes = READOUTS * SOURCES * options.fragment_bytes
    before_alert = options.late + options.before
    seconds = before_alert + options.saving
    ring = int(1.2 * rate * (slice_bytes + RECORD_HEAD_BYTES) * (seconds + 5) / DCMS)
    save = int(2 * rate * slice_bytes * SAVE_SHARE)
    memory = f"buffer_bytes: {ring}"
    if options.folder:
        memory = f"buffer_bytes: {max(ring // 10, 1 << 20)}, disk_bytes: {ring + (2 << 20)}, folder: {options.folder}"
    farm = Farm(options, f"{{mode: rate, rate_hz: {rate:.1f}}}", seconds,
                f"{{{memory}, frozen_share: 0.9, save_bytes_per_s: {save}}}")
    samples = []
    begin = time.monotonic()
    at_alert = farm.sample(begin, samples, ("triggered", rate * before_alert))
    cpu = CpuShare(at_alert)
    if with_alerts:
        first = [before_alert, options.after - options.late]
        second = [options.late + options.before / 2, options.after - options.late + 1]
        for before, after in (first, second):
            answer = farm.ctl("burst", "--before", str(before), "--after", str(after), "--reason", "event")
            if answer.returncode != 0:
                sys.exit(f"weir ctl burst: {answer.stderr}")
    at_end = farm.sample(begin, samples, ("triggered", rate * (seconds - 1)))
    farm.sample(begin, samples)
    line = line_of("alerts" if with_alerts else "quiet", pair, rate, slice_bytes, farm.end())
    earlier = decision_times(at_alert)
    times = {bucket: count - earlier.get(bucket, 0) for bucket, count in decision_times(at_end).items()}
    line["decided"], line["p50_us"], line["p99_us"] = sum(times.values()), percentile(times, 50), percentile(times, 99)
    line["cpu"], line["save_bytes_per_s"] = cpu.share(at_end), DCMS * save
    line["late_s"], line["before_s"], line["after_s"] = options.late, options.before, options.after
    for number, alert in enumerate(line["alerts"], 1):
        alert["on_disk"], alert["wrong"], alert["absent"] = read_back(options.weir, f"{farm.folder}/out/run-000001-burst-{number}")
    line["bytes_saved"] = samples
    farm.remove()
    return line


def statements_of(lines, with_p99):
    """Returns [(sentence, whether it holds)]."""
    quiet = [line for line in lines if line["run"] == "quiet"]
    alerts = [line for line in lines if line["run"] == "alerts"]
    each = [alert for line in alerts for alert in line["alerts"]]
    # Nearly all triggers that fell due in a window, less the vetoed ones of the whole run.
    least = [0.95 * line["rate_hz"] * (line["before_s"] + line["after_s"]) - line["vetoed"] for line in alerts]
    vetoed = [sum(line["vetoed"] for line in some) for some in (quiet, alerts)]
    whole = [alert["saved"] == alert["asked"] == alert["on_disk"] for alert in each]
    firsts = [line["alerts"][0]["asked"] >= wanted for line, wanted in zip(alerts, least)]
    statements = [
        (f"no trigger is vetoed: {vetoed[0]} without alerts, {vetoed[1]} with", sum(vetoed) == 0),
        ("all alerts are whole: " + ", ".join(f"{alert['saved']} of {alert['asked']}" for alert in each) + " slices",
         all(whole) and all(firsts) and len(each) == 2 * len(alerts)),
        (f"every byte is the source's: {sum(alert['wrong'] for alert in each)} wrong, "
         f"{sum(alert['absent'] for alert in each)} missing fragments", all(alert["wrong"] + alert["absent"] == 0 for alert in each)),
        ("all ledgers balance", all(line["balanced"] for line in lines)),
    ]
    medians = [statistics.median(line["p99_us"] for line in some) for some in (quiet, alerts)]
    ratio = medians[1] / medians[0]
    p99 = f"{medians[0]:.0f} us without, {medians[1]:.0f} us with alerts, {ratio:.2f} times"
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
    parser.add_argument("--saving", type=float, default=20, help="seconds from the alert to the end of the run")
    parser.add_argument("--fragment-bytes", type=int, default=1000, help="size of a fragment; a slice has 8")
    parser.add_argument("--pairs", type=int, default=1, help="pairs of runs without and with alerts")
    parser.add_argument("--rate", type=float, help="slices/s, instead of half of the measured storing rate")
    parser.add_argument("--folder", help="folder for rings on disk, of which memory holds a tenth; without it rings are in memory")
    parser.add_argument("--out-folder", help="folder for the run files, which are deleted; without it that of temporary files")
    options = parser.parse_args()
    options.weir = os.path.abspath(os.path.join(options.bin, "weir"))
    rate = options.rate
    if not rate:
        full = storing_rate(options)
        bytes_per_s = full * READOUTS * SOURCES * options.fragment_bytes
        print(f"storing rate: {full:.0f} slices/s, {bytes_per_s / 1e6:.1f} MB/s", file=sys.stderr)
        rate = full / 2
    lines = [measure(options, pair, rate, with_alerts) for pair in range(1, options.pairs + 1) for with_alerts in (False, True)]
    for line in lines:
        print(f"{line['run']}: {line['decided']} slices, p50 {line['p50_us']} us, p99 {line['p99_us']} us, CPU {line['cpu']:.0%}",
              file=sys.stderr)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    sys.stdout.write(text)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)
    statements = statements_of(lines, with_p99=not options.rate)
    for sentence, holds in statements:
        print(("holds: " if holds else "DOES NOT HOLD: ") + sentence, file=sys.stderr)
    return 0 if all(holds for _, holds in statements) else 1


if __name__ == "__main__":
    sys.exit(main())
