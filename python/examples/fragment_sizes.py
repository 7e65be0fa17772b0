#!/usr/bin/env python3
"""How large a run's fragments are: a histogram in powers of two, of samples or of run files.

    fragment_sizes.py --connect 127.0.0.1:7700 --stream raw --every 10 --count 1000
    fragment_sizes.py run/run-000001-writer-0-0000.weir
"""

import argparse
import os
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import weir_daq as weir

WIDTH = 50


def fill(sizes, one):
    for fragment in one.fragments:
        if fragment.kept:
            sizes[len(fragment).bit_length()] += 1


def show(sizes, slices):
    most = max(sizes.values(), default=1)
    print("%d fragments of %d slices" % (sum(sizes.values()), slices))
    for power in range(min(sizes, default=0), max(sizes, default=-1) + 1):
        count = sizes[power]
        print("< %10d B  %8d  %s" % (1 << power, count, "#" * round(WIDTH * count / most)))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("files", nargs="*", help="run files, instead of a run that is on")
    options.add_argument("--connect", default="127.0.0.1:7700", help="HOST:PORT of run control")
    options.add_argument("--keys", help="an observer.curve of `weir keys new`")
    options.add_argument("--stream", action="append", help="raw, accepted, default, debug")
    options.add_argument("--every", type=int, default=1)
    options.add_argument("--count", type=int, default=100, help="samples")
    given = options.parse_args()
    sizes = Counter()
    slices = 0
    if given.files:
        for path in given.files:
            for one in weir.read_run_file(path):
                fill(sizes, one)
                slices += 1
        return show(sizes, slices)
    with weir.Tap(given.connect, given.stream or ["raw"], given.every, keys=given.keys) as tap:
        try:
            for one in tap:
                fill(sizes, one)
                slices += 1
                if slices >= given.count:
                    break
        except KeyboardInterrupt:
            pass
        show(sizes, slices)
        print("%d lost here, %d dropped by the DCMs" % (tap.lost, tap.dropped))


if __name__ == "__main__":
    try:
        main()
    except (weir.TapError, weir.FormatError, OSError) as error:
        sys.exit("fragment_sizes: %s" % error)
