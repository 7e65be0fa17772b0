#!/usr/bin/env python3
"""A hook that judges a run at its end and sets its quality.

control.hooks: {name: quality, at: [after-stop], run: "quality.py --stored-min 100 --incomplete-max 0.01"}

bad: the run failed, or stored fewer slices; questionable: it survived faults, or more than this share of its slices
is incomplete; good: otherwise. A quality that an operator has given stays. Needs the standard library and `weir`.
"""

import argparse
import json
import os
import subprocess
import sys


def judge(account, record, options):
    """Returns the quality and its reason."""
    end = account["end"]
    if end["outcome"] not in ("good", "faults"):
        return "bad", end.get("failure") or end["outcome"]
    stored = int(end.get("stored", 0))
    if stored < options.stored_min:
        return "bad", f"{stored} slices stored"
    share = record.get("stored_incomplete", 0) / max(1, stored)
    if share > options.incomplete_max:
        return "questionable", f"{100 * share:.2g} % of the stored slices are incomplete"
    if end["outcome"] == "faults":
        return "questionable", end.get("fault") or "the run survived faults"
    return "good", ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stored-min", type=int, default=1)
    parser.add_argument("--incomplete-max", type=float, default=0.01, help="share of the stored slices")
    parser.add_argument("--weir", default="weir")
    options = parser.parse_args()
    account = json.load(sys.stdin)
    if account.get("fields", {}).get("quality"):
        return
    record = {}
    if os.path.exists(account["records"]["end"]):
        with open(account["records"]["end"], encoding="utf-8") as file:
            record = json.load(file)
    quality, reason = judge(account, record, options)
    line = [options.weir, "runs", "annotate", str(account["run"]), "--in", account["folder"], "--quality", quality]
    if reason:
        line += ["--comment", f"quality check: {reason}"]
    sys.exit(subprocess.run(line, check=False).returncode)


main()
