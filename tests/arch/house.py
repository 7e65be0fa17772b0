#!/usr/bin/env python3
"""Counts where the house is crooked, and fails when one of these counts grows.

    house.py              the counts, compared with house.json
    house.py --list NAME  the places of one count
    house.py --update     write the present counts to house.json
"""
import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMITS = pathlib.Path(__file__).with_name("house.json")
# Lines of a library or program for one assertion, at most.
LINES_PER_ASSERTION_MAX = 300

ASSERTION = re.compile(r"\bWEIR_ASSERT\(|\bstatic_assert\(")
SETTINGS = re.compile(r"^struct (\w*(?:Settings|Config|Limits|Options|Rates))\b")
DEFAULT = re.compile(r"^\s+[\w:<>,]+(?: [\w:<>,]+)* \w+ =\s*([^;]*)")
NO_VALUE = ("0", "false", "{}", "nullptr", "-1")
TYPE = re.compile(r"^(?:class|struct) (\w+)")
SLICE_ID = re.compile(r"^\s+(?:std::vector<)?SliceId>? \w+(?: = .*|\{.*\})?;")


def sources():
    """(path, lines) of each source of the product."""
    for folder in ("libs", "apps", "tools"):
        for path in sorted((ROOT / folder).rglob("*")):
            name = str(path.relative_to(ROOT))
            if path.suffix in (".cpp", ".hpp") and "/tests/" not in name:
                yield name, path.read_text(errors="replace").split("\n")


def room_of(name):
    return "/".join(name.split("/")[: 3 if name.startswith("libs/") else 2])


def matches(pattern, but=(), once_a_file=False):
    """Finds lines with the pattern in files outside of some folders."""
    sought = re.compile(pattern)

    def find(house):
        for name, lines in house:
            if name.startswith(tuple(but)):
                continue
            hits = [(number, line) for number, line in enumerate(lines, 1) if sought.search(line)]
            for number, line in hits[: 1 if once_a_file else None]:
                yield f"{name}:{number}: {line.strip()}"

    return find


def bare_rooms(house):
    """Finds rooms with fewer assertions than LINES_PER_ASSERTION_MAX wants."""
    rooms = {}
    for name, lines in house:
        room = rooms.setdefault(room_of(name), [0, 0])
        room[0] += len(lines)
        room[1] += sum(len(ASSERTION.findall(line)) for line in lines)
    for room, (lines, assertions) in sorted(rooms.items()):
        if lines > LINES_PER_ASSERTION_MAX * max(assertions, 1):
            yield f"{room}: {assertions} assertions in {lines} lines"


def types_with_slice_id(house):
    """Finds types in headers that have the id of a slice as a member."""
    for name, lines in house:
        if not name.endswith(".hpp"):
            continue
        kind = None
        for number, line in enumerate(lines, 1):
            opened = TYPE.match(line.strip())
            if opened and not line.rstrip().endswith(";"):
                kind = opened.group(1)
            elif kind and SLICE_ID.match(line):
                yield f"{name}:{number}: {kind}"
                kind = None


def second_defaults(house):
    """Finds default values in structs of settings: the farm file's schema has each default."""
    for name, lines in house:
        if not name.endswith(".hpp") or name.startswith("tools/"):
            continue
        kind = None
        for number, line in enumerate(lines, 1):
            opened = SETTINGS.match(line.strip())
            if opened and not line.rstrip().endswith(";"):
                kind = opened.group(1)
            elif kind and line.strip() == "};":
                kind = None
            elif kind:
                value = DEFAULT.match(line)
                if value and value.group(1) not in NO_VALUE:
                    yield f"{name}:{number}: {kind}: {line.strip()}"


# Each count: its description, and the search for its places.
COUNTS = {
    "farm_readers": ("files outside libs/operation/config that read the farm's schema, v1::Farm",
                     matches(r"\bv1::Farm\b", ["libs/operation/config/"], once_a_file=True)),
    "assignment_users": ("includes of the supervisor's machine in other programs and libraries",
                         matches(r"#include <weir/assignment/", ["libs/building/assignment/", "apps/supervisor/", "tools/bench/"])),
    "setup_members": ("parts of nodes that keep the whole setup",
                      matches(r"^\s+const (?:node::)?Setup& \w+;")),
    "unit_conversions": ("places that convert milliseconds of the farm file",
                         matches(r"_ms\(\) \* kMillisecond|kMillisecond \* .*_ms\(\)")),
    "clock_members": ("parts that keep a clock instead of taking the time",
                      matches(r"^\s+(?:const )?(?:ports::)?Clock& \w+;", ["libs/network/ports/", "libs/foundation/clock/"])),
    "second_defaults": ("default values in structs of settings, beside those in farm.proto", second_defaults),
    "slice_id_types": ("types in headers with the id of a slice", types_with_slice_id),
    "bare_rooms": (f"libraries and programs with less than an assertion per {LINES_PER_ASSERTION_MAX} lines", bare_rooms),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", choices=COUNTS)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    house = list(sources())
    if options.list:
        print("\n".join(COUNTS[options.list][1](house)))
        return 0
    counts = {name: sum(1 for _ in find(house)) for name, (_, find) in COUNTS.items()}
    if options.update:
        LIMITS.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
        return 0
    limits = json.loads(LIMITS.read_text())
    worse = 0
    for name, count in counts.items():
        over = count > limits[name]
        worse += over
        print(f"{count:5} {COUNTS[name][0]}" + (f": {limits[name]} are allowed, see house.py --list {name}" if over else ""))
    print(f"{sum(len(lines) for _, lines in house):5} lines of libraries and programs")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
