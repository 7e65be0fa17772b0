#!/usr/bin/env python3
"""Executables that take data contain no code of others' tasks: looks for namespaces among their symbols.

links.py FOLDER, the one with the executables. Status 0: none found; 77: nm is missing.
"""
import pathlib
import re
import shutil
import subprocess
import sys

SUPERVISORS_MACHINE = "assignment"
FORBIDDEN = {
    "weir-readout": {SUPERVISORS_MACHINE, "assembly", "lab", "run", "bench"},
    "weir-dcm": {SUPERVISORS_MACHINE, "source", "emulation", "lab", "run", "bench"},
    "weir-writer": {SUPERVISORS_MACHINE, "source", "emulation", "assembly", "lab", "run", "bench"},
    "weir-supervisor": {"source", "emulation", "assembly", "lab", "run", "bench"},
    "weir-run-control": {SUPERVISORS_MACHINE, "source", "emulation", "assembly", "lab", "run", "bench"},
}
# A function that is defined there, by its namespace.
DEFINED = re.compile(r"^[0-9a-f]+ [tT] weir::(\w+)::", re.MULTILINE)


def main():
    if not shutil.which("nm"):
        print("Skipped: nm (package binutils) is missing")
        return 77
    failed = False
    for name, forbidden in FORBIDDEN.items():
        symbols = subprocess.run(["nm", "-C", pathlib.Path(sys.argv[1]) / name], capture_output=True, text=True, check=True)
        namespaces = DEFINED.findall(symbols.stdout)
        if "node" not in namespaces:
            print(f"{name}: has no function of weir::node: are its symbols stripped?")
            failed = True
        for namespace in sorted(forbidden & set(namespaces)):
            print(f"{name}: has {namespaces.count(namespace)} functions of weir::{namespace}; link less")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
