"""Runs ConstellationDAQ's own dummy satellites once, and prints what the receiver got.

Needs the package ConstellationDAQ: compare.py makes an environment with it. Two PyRandomTransmitter send records of
one block to one PyDevNullReceiver, in processes of their own on the loopback interface.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from constellation.core.controller import ScriptableController
from constellation.core.protocol.cscp1 import SatelliteState

SATELLITES = {
    "PyRandomTransmitter.one": "SatellitePyRandomTransmitter",
    "PyRandomTransmitter.two": "SatellitePyRandomTransmitter",
    "PyDevNullReceiver.sink": "SatellitePyDevNullReceiver",
}
PATIENCE_S = 60


def measure(record_bytes: int, seconds: float) -> float:
    """The receiver's own figure after one run, in bits per second."""
    group = f"weir-compare-{os.getpid()}"
    programs = Path(sys.executable).parent
    children = [
        subprocess.Popen(
            [programs / program, "-g", group, "-n", name.split(".")[1], "-i", "lo", "-l", "CRITICAL"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name, program in SATELLITES.items()
    ]
    try:
        controller = ScriptableController(group, log_level="CRITICAL", interface=["lo"])
        try:
            return run_once(controller, record_bytes, seconds)
        finally:
            controller.reentry()
    finally:
        for child in children:
            child.terminate()
        for child in children:
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()


def run_once(controller: ScriptableController, record_bytes: int, seconds: float) -> float:
    controller.await_satellites(list(SATELLITES), timeout=PATIENCE_S)
    everybody = controller.constellation
    for name in SATELLITES:  # a dictionary goes to a satellite as it is, not by the satellite's name
        everybody.get_satellite(*name.split(".")).initialize({"block_size": record_bytes})
    controller.await_state(SatelliteState.INIT, timeout=PATIENCE_S)
    everybody.launch()
    controller.await_state(SatelliteState.ORBIT, timeout=PATIENCE_S)
    everybody.start("compare")
    controller.await_state(SatelliteState.RUN, timeout=PATIENCE_S)
    time.sleep(seconds)
    everybody.stop()
    controller.await_state(SatelliteState.ORBIT, timeout=PATIENCE_S)
    (answer,) = everybody.PyDevNullReceiver.get_data_rate().values()
    return 1e9 * float(answer.payload)


if __name__ == "__main__":
    print(json.dumps({"bits_per_s": measure(int(sys.argv[1]), float(sys.argv[2]))}))
