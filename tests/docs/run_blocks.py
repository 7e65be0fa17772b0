#!/usr/bin/env python3
"""Runs the code blocks of a page, in their order, in an empty folder.

    run_blocks.py PAGE

A block with `file=NAME` in its first line is written to NAME. A block of kind `sh` runs under `bash -e` and must succeed, one of
kind `sh fails` must not. Blocks without a kind show output and are left out. `weir` comes from PATH; `configs` is the project's.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.S | re.M)


def run(page):
    ran = 0
    with tempfile.TemporaryDirectory(prefix="weir-docs-") as folder:
        pathlib.Path(folder, "configs").symlink_to(ROOT / "configs")
        for words, body in BLOCK.findall(page.read_text()):
            name = re.search(r"\bfile=(\S+)", words)
            if name:
                pathlib.Path(folder, name.group(1)).write_text(body)
            elif words.split()[:1] == ["sh"]:
                ended = subprocess.run(["bash", "-e", "-c", body], cwd=folder, capture_output=True, text=True, timeout=240)
                ran += 1
                if (ended.returncode != 0) != ("fails" in words.split()):
                    print(f"{page}: status {ended.returncode} of:\n{body}{ended.stdout}{ended.stderr}")
                    return 1
    print(f"{page}: {ran} command blocks")
    return 0 if ran > 0 else 1


if __name__ == "__main__":
    sys.exit(run(pathlib.Path(sys.argv[1])))
