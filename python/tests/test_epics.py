"""The status of a farm as EPICS process variables (examples/epics_ioc.py)."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from support import ROOT, main, require

require("numpy", "crc32c", "zmq", "google.protobuf", "caproto")

import weir_daq as weir

WEIR = os.path.join(os.environ.get("WEIR_BIN_DIR", os.path.join(ROOT, "build/release/bin")), "weir")
if not os.path.exists(os.path.join(os.path.dirname(WEIR), "weir-run-control")):
    print(f"SKIPPED: no executables beside {WEIR}")
    raise SystemExit(77)

FARM = """
farm: epics
run: {out: %s}
trigger: {mode: rate, rate_hz: 500}
source: {size_bytes: 100}
readout: {count: 1}
dcm: {count: 1}
writer: {count: 1}
"""
os.environ |= {
    "EPICS_CA_ADDR_LIST": "127.0.0.1",
    "EPICS_CA_AUTO_ADDR_LIST": "NO",
    "EPICS_CA_SERVER_PORT": str(random.randrange(20000, 30000)),
    "EPICS_CA_REPEATER_PORT": str(random.randrange(30000, 32000)),
}

from caproto import AlarmSeverity, CaprotoError
from caproto.sync.client import read


class EpicsTest(unittest.TestCase):
    def wait_for(self, name, good):
        until = time.monotonic() + 30
        got = None
        while time.monotonic() < until:
            try:
                got = read("TEST:" + name, timeout=1, repeater=False, data_type="time")
                if good(got.data[0]):
                    return got
            except (CaprotoError, TimeoutError):
                pass
            time.sleep(0.1)
        self.fail(f"{name} is {got}")

    def test_variables_follow_the_farm_and_its_end(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "farm.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(FARM % os.path.join(folder, "out"))
        with weir.Farm(path, weir=WEIR, timeout_s=30) as farm:
            server = subprocess.Popen(
                [sys.executable, "-B", os.path.join(ROOT, "python/examples/epics_ioc.py"), farm.connect, "TEST:"],
                env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")},
            )
            self.addCleanup(server.wait)
            self.addCleanup(server.kill)
            state = self.wait_for("STATE", lambda value: value == b"idle")
            self.assertEqual(state.metadata.severity, AlarmSeverity.NO_ALARM)
            run = farm.start()
            self.wait_for("STATE", lambda value: value == b"running")
            self.wait_for("RUN", lambda value: value == run)
            self.wait_for("TRIGGERED", lambda value: value > 100)
            self.wait_for("STORED", lambda value: value > 100)
            self.wait_for("PROCESSES", lambda value: value >= 4)
            farm.stop()
            self.wait_for("STATE", lambda value: value == b"ready")
        state = self.wait_for("STATE", lambda value: value == b"no answer")
        self.assertEqual(state.metadata.severity, AlarmSeverity.INVALID_ALARM)


if __name__ == "__main__":
    main()
