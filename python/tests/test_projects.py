"""`weir new` and `weir filter new --python`: the projects pass their own tests, run, and are typed."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import ROOT, main, require

require("numpy")
BIN = Path(os.environ.get("WEIR_BIN_DIR", os.path.join(ROOT, "build/release/bin")))
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": os.path.join(ROOT, "python"),
               "WEIR_PYTHON": sys.executable, "MYPYPATH": os.path.join(ROOT, "python")}  # fmt: skip
TYPED = shutil.which("mypy") is not None and shutil.which("ruff") is not None


def run(command, folder):
    ended = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
    return ended.stdout


def check_types(folder):
    if TYPED:
        run(["mypy", "--strict", "--python-executable", sys.executable, "."], folder)
        run(["ruff", "check", "."], folder)
        run(["ruff", "format", "--check", "--line-length", "120", "."], folder)


class ProjectTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_a_new_farm_runs_at_once_and_its_ledger_balances(self):
        place = Path(self.folder.name)
        run(["weir", "new", "bench 1"], place)
        farm = place / "bench 1"
        self.assertLessEqual(len((farm / "README.md").read_text().splitlines()), 10)
        run(["weir", "run", "bench 1", "--slices", "400", "--summary", "summary.json"], place)
        summary = json.loads((place / "summary.json").read_text())
        self.assertTrue(summary["ledger_balanced"])
        self.assertEqual(summary["farm"], "bench1")
        self.assertEqual((summary["triggered"], summary["stored"], summary["rejected"]), (400, 100, 300))
        self.assertTrue(list((farm / "run").glob("*.weir")))
        run(["weir", "check", "."], farm)
        run([sys.executable, "-m", "unittest"], farm)
        check_types(farm)

    def test_a_folder_with_files_is_left_alone(self):
        place = Path(self.folder.name)
        (place / "mine").write_text("kept")
        ended = subprocess.run(["weir", "new", "."], cwd=place, env=ENVIRONMENT, capture_output=True, text=True)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("is not an empty folder: name another one", ended.stderr)
        self.assertEqual(os.listdir(place), ["mine"])

    def test_a_new_filter_is_typed(self):
        place = Path(self.folder.name)
        run(["weir", "filter", "new", "big-slices", "--python"], place)
        check_types(place / "big-slices")


if __name__ == "__main__":
    main()
