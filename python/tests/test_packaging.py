"""pyproject.toml of the tree (a wheel with executables), that of python/ (without) and the build agree."""

import os
import re
import sys
import unittest
from pathlib import Path

if sys.version_info < (3, 11):
    print("SKIPPED: tomllib came with Python 3.11")
    sys.exit(77)
import tomllib

TREE = Path(__file__).resolve().parents[2]
BIN = Path(os.environ["WEIR_BIN_DIR"])


def project(file):
    return tomllib.loads((TREE / file).read_text(encoding="utf-8"))["project"]


class PackagingTest(unittest.TestCase):
    def test_both_need_the_same_packages(self):
        whole, python = project("pyproject.toml"), project("python/pyproject.toml")
        for table in ("name", "requires-python", "license", "dependencies", "optional-dependencies", "dynamic"):
            self.assertEqual(whole[table], python[table], table)

    def test_the_version_is_the_same_everywhere(self):
        def version(file, before):
            return re.search(before + r"\W*([0-9.]+)", (TREE / file).read_text(encoding="utf-8"))[1]

        wanted = version("CMakeLists.txt", r"project\(Weir VERSION")
        self.assertEqual(version("python/weir_daq/__init__.py", "__version__ ="), wanted)
        self.assertEqual(version("CITATION.cff", "\nversion:"), wanted)

    def test_each_executable_for_people_has_a_script(self):
        scripts = {name for name, entry in project("pyproject.toml")["scripts"].items() if "executables" in entry}
        built = {file.name for file in BIN.glob("weir*")}
        built -= {"weir-filter-worker", "weir-static-window"}  # a DCM and a lab start them
        self.assertEqual(scripts, built)


if __name__ == "__main__":
    unittest.main()
