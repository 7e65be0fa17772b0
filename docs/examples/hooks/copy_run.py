#!/usr/bin/env python3
"""A hook that copies the files of a run to another host, and deletes them here once they are verified there.

control.hooks: {name: archive, at: [after-stop], limit_s: 36000, run: "copy_run.py archive.example.org /data/runs"}

Each file is copied as NAME.copying, verified there by `weir file verify`, and renamed; only then is it deleted here.
A file that is not closed (.part) is never copied or deleted. One that is already there is verified again. Records stay.
Files of writers on other hosts are theirs: use writer.on_close there. Needs the standard library, ssh, and Weir on both
sides.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("folder", help="on that host")
    parser.add_argument("--ssh", default="ssh -o BatchMode=yes", help="command that executes a command on the host")
    parser.add_argument("--weir", default="weir", help="command on the host")
    parser.add_argument("--keep", action="store_true", help="delete nothing")
    options = parser.parse_args()
    account = json.load(sys.stdin)
    end = account.get("records", {}).get("end")
    if not end or not os.path.exists(end):
        sys.exit(f"run {account['run']} has no end record: nothing is copied")
    with open(end, encoding="utf-8") as file:
        files = [one["path"] for one in json.load(file)["files"]]
    failed = []
    for path in files:
        if path.endswith(".part"):
            failed.append(f"{path} is not closed: see `weir file recover`")
            continue
        if not os.path.exists(path):
            continue  # of a writer on another host, or already moved
        why = copy(path, options)
        if why:
            failed.append(f"{path}: {why}")
        elif not options.keep:
            os.remove(path)
    print(f"run {account['run']}: {len(files) - len(failed)} of {len(files)} files at {options.host}:{options.folder}")
    if failed:
        sys.exit("\n".join(failed))


def copy(path, options):
    """Copies and verifies one file; returns why it is not there, or an empty text."""
    there = os.path.join(options.folder, os.path.basename(path))
    at, near = shlex.quote(there), shlex.quote(there + ".copying")
    remote = [*shlex.split(options.ssh), options.host]
    verify = f"{options.weir} file verify"
    size = os.path.getsize(path)
    script = (
        f"if test -e {at}; then cat >/dev/null; test \"$(wc -c <{at})\" -eq {size} && exec {verify} {at}; exit; fi; "
        f"cat >{near} && test \"$(wc -c <{near})\" -eq {size} && {verify} {near} && sync {near} && mv -n {near} {at}"
    )
    with open(path, "rb") as file:
        done = subprocess.run([*remote, script], stdin=file, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    said = (done.stderr or done.stdout).strip().splitlines()
    return f"status {done.returncode} at {options.host}" + (f": {said[-1]}" if said else "")


main()
