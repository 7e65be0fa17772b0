#!/usr/bin/env python3
"""Runs the code blocks of a page, in their order, in an empty folder.

    run_blocks.py PAGE [--tagged] [--labs yes|no] [--slices N] [--seconds N]

A block with `file=NAME` in its first line is written to NAME. A block of kind `sh` runs under `bash -e` and must succeed, one of
kind `sh fails` must not. Blocks without a kind show output and are left out. `weir` comes from PATH; `configs` is the project's.

--tagged: only blocks of kind `sh tested` run, as in a clone: `build/release` is the build tree of that `weir`. HOME is the folder.
--labs: only the blocks that play a network (with `--lab`), or only the others. --slices: runs of more than N slices end after N.
--seconds: `weir run` ends after N seconds.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.S | re.M)


def shorten(body, slices, seconds):
    body = re.sub(r"(?<=--slices )\d+", lambda found: str(min(int(found.group()), slices)), body)
    if seconds is None:
        return body
    body = re.sub(r"(?<=--duration )\d+", lambda found: str(min(int(found.group()), seconds)), body)
    return re.sub(r"\bweir run (?!.*--duration )", f"weir run --duration {seconds} ", body)


def link_build(folder):
    folder.joinpath("build").mkdir()
    folder.joinpath("build/release").symlink_to(pathlib.Path(shutil.which("weir")).resolve().parents[1])


def run(page, tagged, labs, slices, seconds):
    ran = 0
    with tempfile.TemporaryDirectory(prefix="weir-docs-") as name:
        folder = pathlib.Path(name)
        folder.joinpath("configs").symlink_to(ROOT / "configs")
        environment = dict(os.environ)
        if tagged:
            link_build(folder)
            environment["HOME"] = name
        for words, body in BLOCK.findall(page.read_text()):
            kinds = words.split()
            written = re.search(r"\bfile=(\S+)", words)
            if tagged and "tested" not in kinds:
                continue
            if written:
                folder.joinpath(written.group(1)).write_text(body)
            elif kinds[:1] == ["sh"] and labs in (None, "--lab " in body):
                ended = subprocess.run(["bash", "-e", "-c", shorten(body, slices, seconds)], cwd=folder, capture_output=True, text=True,
                                       timeout=240, env=environment)
                ran += 1
                if (ended.returncode != 0) != ("fails" in kinds):
                    print(f"{page}: status {ended.returncode} of:\n{body}{ended.stdout}{ended.stderr}")
                    return 1
    print(f"{page}: {ran} command blocks")
    return 0 if ran > 0 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--tagged", action="store_true")
    parser.add_argument("--labs", choices=("yes", "no"))
    parser.add_argument("--slices", type=int, default=sys.maxsize)
    parser.add_argument("--seconds", type=int)
    given = parser.parse_args()
    labs = None if given.labs is None else given.labs == "yes"
    sys.exit(run(given.page, given.tagged, labs, given.slices, given.seconds))
