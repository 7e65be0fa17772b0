"""Measures Weir beside ConstellationDAQ, in turn, on this machine: two senders and one receiver.

usage: compare.py [--build build/release] [--sizes 1024,102400] [--seconds 10] [--rounds 3]

Prints a line of JSON per size, and a table to standard error. What each of the two does with the data is in
README.md. Runs with an interpreter that has the package ConstellationDAQ: `./dev compare` makes one.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATIENCE_S = 300

FARM = """farm: compare
run: {{out: '{out}', duration_s: {seconds}}}
trigger: {{mode: max}}
source: {{kind: dummy, distribution: fixed, size_bytes: {size}, size_bytes_max: {size}}}
readout: {{count: 2, sources_per_readout: 1}}
dcm: {{count: 1}}
filter: {{plugin: accept-all}}
writer: {{count: 0}}
"""


class Failed(Exception):
    """A sentence for people."""


def measure_peer(size: int, seconds: float) -> float:
    """Bytes per second at the receiver."""
    command = [sys.executable, HERE / "constellation_farm.py", str(size), str(seconds)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=seconds + PATIENCE_S, check=False)
    if ran.returncode != 0:
        raise Failed(f"ConstellationDAQ: {ran.stderr.strip()[-300:]}")
    return float(json.loads(ran.stdout.splitlines()[-1])["bits_per_s"]) / 8


def measure_weir(weir: Path, size: int, seconds: float) -> float:
    """Bytes per second of fragments in built slices."""
    with tempfile.TemporaryDirectory() as folder:
        farm = Path(folder, "farm.yaml")
        farm.write_text(FARM.format(out=folder, seconds=seconds, size=size), encoding="utf-8")
        command = [weir, "run", farm]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=seconds + PATIENCE_S, check=False)
        if ran.returncode != 0:
            raise Failed(f"weir run: {(ran.stderr + ran.stdout).strip()[-300:]}")
        record = json.loads(Path(folder, "run-000001-end.json").read_text(encoding="utf-8"))
        return float(record["goodput_bytes_per_s"])


def line_of(version: str, size: int, weir: list[float], peer: list[float]) -> dict[str, object]:
    """Medians over the rounds; the ratio is that of each round."""
    return {
        "bench": "compare",
        "peer": f"ConstellationDAQ {version}",
        "record_bytes": size,
        "rounds": len(weir),
        "weir_bytes_per_s": round(statistics.median(weir)),
        "peer_bytes_per_s": round(statistics.median(peer)),
        "ratio": round(statistics.median(a / b for a, b in zip(weir, peer)), 2),
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.release().split('-')[0]}",
        "load": os.getloadavg()[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure Weir beside ConstellationDAQ, in turn.")
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--sizes", default="1024,102400", help="bytes of a record or fragment")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    build = options.build.resolve()
    version = importlib.metadata.version("ConstellationDAQ")
    print("record      Weir          peer       ratio", file=sys.stderr)
    for size in map(int, options.sizes.split(",")):
        weir: list[float] = []
        peer: list[float] = []
        for _ in range(options.rounds):
            weir.append(measure_weir(build / "bin" / "weir", size, options.seconds))
            peer.append(measure_peer(size, options.seconds))
        line = line_of(version, size, weir, peer)
        print(json.dumps(line), flush=True)
        print(
            f"{size:7} B  {8e-9 * statistics.median(weir):6.2f} Gb/s  {8e-9 * statistics.median(peer):6.2f} Gb/s"
            f"  {line['ratio']:6.2f}",
            file=sys.stderr,
        )


if __name__ == "__main__":
    try:
        main()
    except (Failed, subprocess.TimeoutExpired, OSError) as error:
        sys.exit(f"compare: {error}")
