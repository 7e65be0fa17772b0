#!/usr/bin/env python3
"""Counts sentences that docs and comments should not have, and fails when a folder gets more of them.

    prose.py             compare every folder with prose.json
    prose.py --list DIR  the sentences found under DIR
    prose.py --update    write the present counts to prose.json

The rules: a noun instead of a clause ("counters", not "what is counted"); processes are things ("the node", not
"who"); English negates the verb ("does not exist", not "there is none", "is no file").
"""
import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTS = pathlib.Path(__file__).with_name("prose.json")
FOLDERS = ("apps", "configs", "deploy", "docs", "libs", "plugins", "proto", "python", "tests", "tools")
SOURCES = {".cpp", ".hpp", ".h", ".c", ".py", ".js", ".proto"}
LEFT_OUT = {"golden", "corpus", "__pycache__", "build"}

RULES = (
    ("clause for a noun", re.compile(
        r"\b[Ww]hat (?:is|was|are|were|has|had|it|they|comes?|came|goes|went|a|the|others?|this|each|nodes|waits|follows|"
        r"lies|belongs|stands|counts|remains)\b")),
    ("clause for a subject", re.compile(r"^(?:What|Who|Whoever|Nobody|Somebody) [a-z]")),
    ("process as a person", re.compile(r"\b(?:who|whom|whose|whoever|nobody|somebody|everybody|anybody)\b", re.I)),
    ("negated noun", re.compile(r"\b(?:is|are|was|were) no (?!longer|more|less|later|earlier|faster|slower|need\b|such\b|way\b|"
                                r"worse|better)[a-z]")),
    ("there is, in a clause", re.compile(r"\bthat there (?:is|are|was|were)\b")),
)
COMMENT = re.compile(r"\s*(?://+|\*|#) ?(.*)")
LITERAL = re.compile(r'"([^"\\]{24,})"')
BOUNDARY = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`*])")


def sentences(text):
    """Sentences of four words at least."""
    for sentence in BOUNDARY.split(re.sub(r"\s+", " ", text)):
        if len(sentence.split()) >= 4:
            yield sentence.strip()


def paragraphs(path):
    """(line, text) of each paragraph of a page, or comment and longer literal of a source."""
    lines = path.read_text(errors="replace").split("\n")
    if path.suffix == ".md":
        text = re.sub(r"```.*?```", lambda block: "\n" * block.group(0).count("\n"), "\n".join(lines), flags=re.S)
        line = 1
        for part in re.split(r"(\n\s*\n|\n- |\n\|)", text):
            yield line, part
            line += part.count("\n")
        return
    block = []
    begin = 0
    for number, line in enumerate([*lines, ""], 1):
        comment = COMMENT.match(line)
        if comment and not re.match(r"\s*#\s*(include|define|if|endif|pragma)", line):
            begin = begin if block else number
            block.append(comment.group(1))
            continue
        if block:
            yield begin, " ".join(block)
            block = []
        for literal in LITERAL.findall(line):
            if " " in literal:
                yield number, literal


def files():
    yield from sorted(ROOT.glob("*.md"))
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SOURCES | {".md"} and not LEFT_OUT & set(path.relative_to(ROOT).parts):
                yield path


def folder_of(path):
    parts = path.relative_to(ROOT).parts
    if parts[0] == "libs":
        return "/".join(parts[:3]) if len(parts) > 3 else "libs"
    return "/".join(parts[:2]) if parts[0] in ("apps", "libs", "plugins", "tests", "tools") and len(parts) > 2 else parts[0]


def findings():
    for path in files():
        if path.name == "prose.py":
            continue
        for line, text in paragraphs(path):
            for sentence in sentences(text):
                rule = next((name for name, pattern in RULES if pattern.search(sentence)), None)
                yield path, line, sentence, rule


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", metavar="DIR")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    counts = {}
    total = 0
    for path, line, sentence, rule in findings():
        total += 1
        folder = folder_of(path)
        counts.setdefault(folder, 0)
        if rule is None:
            continue
        counts[folder] += 1
        name = str(path.relative_to(ROOT))
        if options.list is not None and name.startswith(options.list):
            print(f"{name}:{line}: {rule}: {sentence}")
    if options.list is not None:
        return 0
    if options.update:
        COUNTS.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
        return 0
    allowed = json.loads(COUNTS.read_text())
    worse = {folder: count for folder, count in counts.items() if count > allowed.get(folder, 0)}
    found = sum(counts.values())
    print(f"{found} of {total} sentences ({100 * found / max(total, 1):.1f} %)")
    for folder, count in sorted(worse.items()):
        print(f"{folder}: {count} sentences, {allowed.get(folder, 0)} are allowed: tests/arch/prose.py --list {folder}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
