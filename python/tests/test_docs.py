"""Runs every command block of docs/python.md and docs/analysis.md, in order, in a folder of its own."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import ROOT, main, require

require("numpy", "crc32c", "zmq", "google.protobuf", "tqdm", "h5py", "pyarrow", "uproot", "awkward", "pandas", "polars",
        "dask", "km3net_testdata", "matplotlib")

BIN = os.environ.get("WEIR_BIN_DIR", os.path.join(ROOT, "build/release/bin"))
if not os.path.exists(os.path.join(BIN, "weir-run-control")):
    print(f"SKIPPED: no executables in {BIN}")
    raise SystemExit(77)
if shutil.which("rsync") is None:
    print("SKIPPED: no rsync here")
    raise SystemExit(77)

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Left out: the test's interpreter has the packages already.
INSTALLS = re.compile(r"^(?:pip install|python3 -m venv) .*\n", re.MULTILINE)


class DocsTest(unittest.TestCase):
    def run_page(self, name):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        for part in ("configs", "python"):
            os.symlink(os.path.join(ROOT, part), os.path.join(folder, part))
        commands = os.path.join(folder, "bin")
        os.mkdir(commands)
        # As the interpreter's own environment has them.
        for command, words in (("python3", ""), ("weir-daq", "-m weir_daq")):
            with open(os.path.join(commands, command), "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            os.chmod(file.name, 0o755)
        environment = {
            **os.environ,
            "PATH": f"{commands}:{BIN}:{os.environ['PATH']}",
            "PYTHONPATH": os.path.join(ROOT, "python"),
            "WEIR_PYTHON": sys.executable,
        }
        with open(os.path.join(ROOT, "docs", name), encoding="utf-8") as file:
            blocks = BLOCK.findall(file.read())
        for number, (language, text) in enumerate(blocks):
            with self.subTest(page=name, block=number, first=text.splitlines()[0]):
                self.assertIn(language, ("sh", "python"))
                path = os.path.join(folder, f"block-{number}")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(INSTALLS.sub("", text))
                words = ["bash", "-eu", path] if language == "sh" else [sys.executable, path]
                done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=200)
                self.assertEqual(done.returncode, 0, f"{text}\n{done.stdout}\n{done.stderr}")
        return folder

    def test_every_block_of_the_page_on_the_package_runs(self):
        self.run_page("python.md")

    def test_every_block_of_the_page_on_analysis_runs(self):
        folder = self.run_page("analysis.md")
        for name in ("demo-hdf5/run.h5", "km3net-parquet/manifest.json", "run-000001-all-0000.weir"):
            self.assertTrue(os.path.exists(os.path.join(folder, name)), name)
        self.assertTrue(os.listdir(os.path.join(folder, "archive")))


if __name__ == "__main__":
    main()
