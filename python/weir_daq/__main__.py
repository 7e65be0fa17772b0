"""weir-daq: converts runs, makes new files of their slices, imports recordings, scans settings (docs/python.md)."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from . import formats
from ._packages import need
from ._tables import DECISION
from .errors import WeirError
from .run import Run, Slices

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([KMG]?)(i?B)?", text, re.IGNORECASE)
    if not match or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 512MiB")
    return int(match[1]) * _UNITS[match[2].upper()]


def _range(text: str) -> tuple[int | None, int | None]:
    low, colon, high = text.partition(":")
    try:
        if not colon:
            return int(low), int(low)
        return (int(low) if low else None), (int(high) if high else None)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not FIRST:LAST") from None


def _sources(text: str) -> list[int]:
    try:
        return [int(one) for one in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of source numbers") from None


def _add_selection(command: argparse.ArgumentParser) -> None:
    command.add_argument("--run", type=int, metavar="N", help="number of the run, if the folder has several")
    command.add_argument("--stream", choices=("default", "debug"), help="slices of this stream")
    command.add_argument("--decision", choices=DECISION, help="slices with this decision")
    command.add_argument("--ids", type=_range, metavar="FIRST:LAST", help="slices with these ids, inclusive")
    command.add_argument("--time-ns", type=_range, metavar="FROM:TO", help="slices triggered from FROM on, before TO")


def _select(run: Run, options: argparse.Namespace) -> Slices:
    wanted = {name: getattr(options, name) for name in ("stream", "decision", "ids", "time_ns")}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    return run.select(**wanted) if wanted and len(run) else run


def _convert(options: argparse.Namespace) -> int:
    from .convert import convert, info_of
    from .workers import limit_allocators

    limit_allocators()
    formats.load(options.to)
    run = Run(options.folder, options.run)
    out = options.out or os.path.join(options.folder, f"run-{run.number:06d}-{options.to}")
    manifest = convert(
        _select(run, options),
        options.to,
        out,
        info=info_of(run),
        options=formats.Options(options.compression or "", options.hits),
        jobs=options.jobs,
        memory=options.memory,
        part_bytes=options.part_bytes,
        verify=not options.no_verify,
        progress=False if options.quiet else None,
    )
    damaged = manifest["damaged_fragments"]
    if damaged:
        print(
            f"weir-daq: {len(damaged)} fragments did not match their checksum in the run; they were converted as they "
            f"are, and {out}/manifest.json lists them",
            file=sys.stderr,
        )
    if not options.quiet:
        print(f"{manifest['slices']} slices in {len(manifest['parts'])} part(s): {out}")
    return 0


def _skim(options: argparse.Namespace) -> int:
    from .skim import accepted_ids, write_slices

    run = Run(options.folder, options.run)
    slices = _select(run, options)
    if options.filter:
        slices = slices.select(ids=accepted_ids(options.folder, options.filter, options.set))
    done = write_slices(run, slices, options.out, getattr(options, "source", ()))
    print(f"{done['slices']} slices, {done['bytes']} bytes: {options.out}")
    return 0


def _import(options: argparse.Namespace) -> int:
    from .km3net import import_file

    done = import_file(
        options.file, options.folder, tree=options.tree, geometry=options.geometry, slices_max=options.slices
    )
    print(f"{done['slices']} slices, {done['sources']} modules, {done['hits']} hits: {options.folder}")
    return 0


def _compare(options: argparse.Namespace) -> int:
    from .km3net import compare_clusters, compare_events

    run = Run(options.run_folder, options.run)
    compared = compare_events(options.file, run, options.folder)
    print(f"{'frame':>10}  {'hits':>5}  {'stored':>6}  {'clustered':>9}")
    for one in compared:
        print(f"{one.frame_index:>10}  {one.hits:>5}  {one.stored:>6}  {one.clustered:>9}")
    total = [sum(getattr(one, name) for one in compared) for name in ("hits", "stored", "clustered")]
    print(f"{len(compared):>3} events  {total[0]:>5}  {total[1]:>6}  {total[2]:>9}")
    clusters = compare_clusters(options.file, run, options.folder)
    shared = [one for one in clusters if one.in_events > 0]
    print(
        f"{len(clusters)} clusters of the run, {sum(one.hits for one in clusters)} hits; {len(shared)} of them have "
        f"{sum(one.in_events for one in shared)} hits of an event"
    )
    return 0


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _scan(options: argparse.Namespace) -> int:
    from .farm import Farm
    from .scan import Done, Results, carry_out, progress_of, read_plan, remaining_s

    plan = read_plan(options.file)
    path = options.results or options.file + ".results.jsonl"
    results = Results(path)
    todo = [point for point in plan.points if not results.is_good(point)]
    print(f"{len(plan.points)} runs, {len(plan.points) - len(todo)} taken; results in {path}", flush=True)
    if options.plan:
        for point in todo:
            print(f"  {point.name}")
        seconds = remaining_s(results.done.values(), len(todo), plan.duration_s)
        print("their time is not known yet" if seconds is None else f"about {_clock(seconds)} in all")
        return 0
    if options.connect is None:
        raise ValueError("where is run control? Give --connect HOST:PORT, or use `weir scan`, which finds it")
    results.lock()
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def report(done: Done, left: int, seconds: float | None) -> None:
        stored, triggered = done.result.get("stored"), done.result.get("triggered")
        said = f"FAILED: {done.failure}" if done.failure else f"{stored} of {triggered} stored"
        time = f", {_clock(seconds)}" if left and seconds is not None else ""
        run = f"run {done.run}" if done.run else "no run"
        print(f"{done.point.name}  {run}: {said}; {left} left{time}", flush=True)

    with Farm(connect=options.connect, keys=options.keys, timeout_s=options.timeout) as farm:
        try:
            done = carry_out(farm, plan, results, report, progress_of(farm, path))
        except KeyboardInterrupt:
            print("weir scan: interrupted; the same command continues", file=sys.stderr)
            return 130
    failed = [one for one in done if one.failure]
    if failed:
        print(f"weir scan: {len(failed)} of {len(done)} runs failed; the same command repeats them", file=sys.stderr)
    return 1 if failed else 0


def _check(options: argparse.Namespace) -> int:
    if options.to != "scan":
        formats.load(options.to)
        return 0
    for module in ("zmq", "google.protobuf", "yaml"):
        need(module, "a scan")
    return 0


class _Parser(argparse.ArgumentParser):
    """Raises errors of printing help; newer versions of argparse ignore them."""

    def print_help(self, file: Any = None) -> None:
        print(self.format_help(), end="", file=file)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="weir-daq", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, action: Any, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(action=action)
        return command

    convert = add("convert", _convert, "Convert the slices of a run to another format")
    convert.add_argument("folder", metavar="RUN", help="folder of the run")
    convert.add_argument("--to", required=True, choices=tuple(formats.FORMATS), help="format")
    convert.add_argument("--out", metavar="FOLDER", help="new folder; without: run-NNNNNN-FORMAT in RUN")
    _add_selection(convert)
    convert.add_argument("--hits", action="store_true", help="parquet: hits of 6 bytes as columns instead of bytes")
    convert.add_argument("--compression", metavar="NAME", help="the format's compression, or none")
    convert.add_argument("--jobs", type=int, metavar="N", help="worker processes; without: one per CPU")
    convert.add_argument("--memory", type=_size, default="1GiB", metavar="SIZE", help="slices in memory at once (1GiB)")
    convert.add_argument("--part-bytes", type=_size, default="256MiB", metavar="SIZE", help="slices per part (256MiB)")
    convert.add_argument("--no-verify", action="store_true", help="do not read the parts back and compare them")
    convert.add_argument("--quiet", action="store_true", help="no progress bar, no last line")

    for name, text in (
        ("skim", "Write selected slices of a run into one new run file"),
        ("merge", "Write all slices of a run into one new run file, without dead copies"),
    ):
        command = add(name, _skim, text)
        command.add_argument("folder", metavar="RUN", help="folder of the run")
        command.add_argument("--out", required=True, metavar="FILE", help="new run file")
        if name == "skim":
            _add_selection(command)
            command.add_argument("--source", type=_sources, default=(), metavar="ID,ID", help="keep only their bytes")
            command.add_argument("--filter", metavar="PLUGIN", help="slices that this filter plugin accepts")
            command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                                 help="parameter of the filter")
        else:
            command.add_argument("--run", type=int, metavar="N", help="number of the run, if the folder has several")
            command.set_defaults(filter=None, stream=None, decision=None, ids=None, time_ns=None)

    recording = add("import", _import, "Make a replay folder of recorded data")
    recording.add_argument("kind", choices=("km3net",), help="type of the file: KM3NeT online data in ROOT")
    recording.add_argument("file", metavar="FILE")
    recording.add_argument("folder", metavar="FOLDER", help="new folder for `replay.path`")
    recording.add_argument("--tree", metavar="NAME", help="L0, L1 or SN; without: the one that the file has")
    recording.add_argument("--geometry", metavar="FILE.detx", help="detector file, copied as detector.detx")
    recording.add_argument("--slices", type=int, metavar="N", help="only the first N slices")

    compare = add("compare", _compare, "Compare the events of another trigger with a run's clusters, hit by hit")
    compare.add_argument("kind", choices=("km3net",), help="type of the file: KM3NeT online events in ROOT")
    compare.add_argument("file", metavar="EVENTS")
    compare.add_argument("run_folder", metavar="RUN", help="folder of a run that replayed the recording")
    compare.add_argument("folder", metavar="FOLDER", help="replay folder of the same data")
    compare.add_argument("--run", type=int, metavar="N", help="number of the run, if the folder has several")

    check = add("check", _check, "Exit with 0 if the packages of a format, or of `scan`, are installed")
    check.add_argument("to", choices=(*formats.FORMATS, "scan"))

    taken = add("scan", _scan, "Take runs over values of farm-file keys")
    taken.add_argument("file", metavar="FILE", help="values and length of the runs (YAML, or JSON)")
    taken.add_argument("--connect", metavar="HOST:PORT", help="run control")
    taken.add_argument("--plan", action="store_true", help="print the runs that are left and their time, and take none")
    taken.add_argument("--keys", metavar="FILE", help="operator.curve, where the bus has keys")
    taken.add_argument("--results", metavar="FILE", help="a line of JSON a run; without: FILE.results.jsonl")
    taken.add_argument("--timeout", type=float, default=5.0, metavar="S", help="seconds to wait for an answer (5)")
    return parser


def _status_with_output(status: int) -> int:
    """`status`, or 1 instead of 0 if standard output could not be written. A closed pipe does not count."""
    if sys.stdout is None:  # closed before the start
        return status or 1
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # it is flushed again at Python's end
        if not isinstance(error, BrokenPipeError):
            print(f"weir-daq: standard output could not be written: {error.strerror}", file=sys.stderr)
            return status or 1
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns 0, or 1 after an error, with its sentence on stderr, or 2 after wrong options."""
    warnings.showwarning = lambda message, *_: print(f"weir-daq: {message}", file=sys.stderr)
    try:
        options = _parser().parse_args(arguments)
        status: int = options.action(options)
    except SystemExit as end:  # help, wrong options
        status = int(end.code or 0)
    except (WeirError, OSError, ValueError) as error:
        print(f"weir-daq: {error}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        print("weir-daq: interrupted, nothing was published", file=sys.stderr)
        status = 130
    return _status_with_output(status)


def start() -> int:
    """main() of `weir file`: without the working folder in sys.path, in its worker processes as well."""
    os.environ["PYTHONSAFEPATH"] = "1"
    if sys.version_info < (3, 11):
        from multiprocessing import util

        flags = util._args_from_interpreter_flags  # type: ignore[attr-defined]
        util._args_from_interpreter_flags = lambda: [*flags(), "-I"]  # type: ignore[attr-defined]
    return main()


if __name__ == "__main__":
    sys.exit(main())
