"""The bridge to Constellation: satellites of ConstellationDAQ from PyPI, and a farm of Weir."""

import collections
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import HERE, ROOT, main, require

require("numpy", "crc32c", "zmq", "google.protobuf", "constellation")

from constellation.core.controller import ScriptableController
from constellation.core.protocol.cscp1 import SatelliteState

import weir_daq as weir
from weir_daq.constellation import Slices, Triggers, unpack
from weir_daq.frontend import Answer

WEIR = os.path.join(os.environ.get("WEIR_BIN_DIR", os.path.join(ROOT, "build/release/bin")), "weir")
if not os.path.exists(os.path.join(os.path.dirname(WEIR), "weir-run-control")):
    print(f"SKIPPED: no executables beside {WEIR}")
    raise SystemExit(77)

SENDERS = {"Board.one": 1, "Board.two": 2}
PATIENCE_S = 40


class SlicesTest(unittest.TestCase):
    def test_a_number_is_passed_on_once_with_the_records_of_all_transmitters(self):
        slices = Slices(["a", "b"], 1000)
        self.assertEqual(slices.add("a", 1, b"a1"), [])
        self.assertEqual(slices.add("a", 2, b"a2"), [])
        self.assertEqual(slices.add("b", 2, b"b2"), [(2, {"a": b"a2", "b": b"b2"})])
        self.assertEqual(slices.add("b", 1, b"b1"), [(1, {"a": b"a1", "b": b"b1"})])
        self.assertEqual((slices.add("b", 1, b"again"), slices.late), ([], 1))

    def test_a_transmitter_that_has_ended_is_not_waited_for(self):
        slices = Slices(["a", "b"], 1000)
        self.assertEqual(slices.add("a", 1, b"a1"), [])
        self.assertEqual(slices.end("b"), [(1, {"a": b"a1", "b": None})])
        self.assertEqual(slices.add("a", 2, b"a2"), [(2, {"a": b"a2", "b": None})])

    def test_a_transmitter_far_ahead_costs_no_more_than_the_limit(self):
        slices = Slices(["a", "b"], 100)
        ready = [one for number in range(1, 101) for one in slices.add("a", number, bytes(10))]
        self.assertEqual(ready, [(number, {"a": bytes(10), "b": None}) for number in range(1, 91)])
        self.assertEqual((slices.add("b", 1, b"late"), slices.late), ([], 1))


class Busy:
    """A supervisor that takes a slice when it is offered for the third time, and 13 never."""

    def __init__(self):
        self.offers = collections.Counter()
        self.answers = collections.deque()

    def post(self, number):
        self.offers[number] += 1
        busy = "duplicate_id" if number == 13 else "throttled" if self.offers[number] < 3 else ""
        self.answers.append(Answer(None if busy else number, busy))

    def answer(self):
        return self.answers.popleft()


class TriggersTest(unittest.TestCase):
    def test_a_busy_farm_gets_each_slice_again_until_it_takes_it(self):
        client = Busy()
        triggers = Triggers(client)
        for number in range(1, 201):
            triggers.offer(number)
        triggers.finish()
        self.assertEqual((triggers.taken, dict(triggers.refused)), (199, {"duplicate_id": 1}))
        self.assertEqual({client.offers[number] for number in range(1, 201) if number != 13}, {3})

    def test_a_farm_that_stays_busy_costs_the_slice_after_a_time(self):
        client = Busy()
        client.offers.update({1: -1_000_000})
        now = iter(range(0, 1000, 4))
        triggers = Triggers(client, clock=lambda: next(now))
        triggers.offer(1)
        triggers.finish()
        self.assertEqual(dict(triggers.refused), {"throttled": 1})


class BridgeTest(unittest.TestCase):
    """Two transmitters, the satellite, and a farm with two sources in one readout."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        base = random.randrange(20000, 30000, 10)
        self.ports = {"base": base, "triggers": base + 5}
        with open(os.path.join(self.folder, "records.py"), "w", encoding="utf-8") as file:
            file.write("import weir_daq.streams\n\n\nclass Source(weir_daq.streams.Listener):\n    'records'\n")
        path = os.path.join(self.folder, "farm.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                f"farm: bridge\nrun: {{out: {self.folder}/out}}\n"
                f"trigger: {{mode: network, listen: '127.0.0.1:{base + 5}'}}\n"
                f"source: {{kind: plugin, plugin: '{self.folder}/records.py', parameters: {{port: {base}}}}}\n"
                f"readout: {{nodes: [{{name: readout-0, sources: [1, 2]}}]}}\ndcm: {{count: 1}}\nwriter: {{count: 1}}\n"
            )
        self.farm = weir.Farm(path, weir=WEIR, timeout_s=30, settings={"source.python": sys.executable})
        self.addCleanup(self.farm.close)
        self.children = {}
        self.addCleanup(self.end_children)
        self.begin_all()

    def begin_all(self):
        """New satellites, and a controller of their own group: a controller remembers dead ones."""
        self.group = f"weir-test-{random.randrange(1 << 40)}"
        for name in SENDERS:
            self.begin(name, ["-B", os.path.join(HERE, "constellation_board.py")])
        self.begin("Weir.farm", ["-B", "-m", "weir_daq.constellation"])
        self.controller = ScriptableController(self.group, log_level="CRITICAL", interface=["lo"])
        self.addCleanup(self.controller.reentry)
        self.controller.await_satellites([*SENDERS, "Weir.farm"], timeout=PATIENCE_S)

    def begin(self, name, words):
        with open(os.path.join(self.folder, name + ".log"), "ab") as log:
            environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")}
            words = [sys.executable, *words, "-g", self.group, "-n", name.split(".")[1], "-i", "lo", "-l", "INFO"]
            self.children[name] = subprocess.Popen(words, stdout=log, stderr=log, env=environment)

    def end_children(self):
        for child in self.children.values():
            child.kill()
            child.wait()

    def log(self, name="Weir.farm"):
        with open(os.path.join(self.folder, name + ".log"), encoding="utf-8") as log:
            return " ".join(log.read().split())

    def reach(self, state):
        try:
            self.controller.await_state(state, timeout=PATIENCE_S)
        except Exception:
            self.fail(f"no {state}: {self.log()[-3000:]}")

    def begin_run(self):
        everybody = self.controller.constellation
        base = self.ports["base"]
        settings = {
            "run_control": self.farm.connect,
            "triggers": f"127.0.0.1:{base + 5}",
            "sources": {name: f"127.0.0.1:{base + source}" for name, source in SENDERS.items()},
        }
        for name in SENDERS:
            everybody.get_satellite(*name.split(".")).initialize({})
        everybody.get_satellite("Weir", "farm").initialize(settings)
        self.reach(SatelliteState.INIT)
        everybody.launch()
        self.reach(SatelliteState.ORBIT)
        self.assertEqual(self.farm.status().state, "ready")
        everybody.start("beam")
        self.reach(SatelliteState.RUN)
        self.assertEqual(self.farm.status().state, "running")

    def end_run(self):
        self.controller.constellation.stop()
        self.reach(SatelliteState.ORBIT)
        self.assertEqual(self.farm.status().state, "ready")
        return self.farm.status().runs[0]

    def wait_for(self, condition, what):
        until = time.monotonic() + PATIENCE_S
        while not condition():
            self.assertLess(time.monotonic(), until, what + self.log()[-3000:])
            time.sleep(0.05)

    def test_records_become_slices_and_deaths_on_both_sides_are_survived(self):
        # A run in which nothing is wrong.
        self.begin_run()
        time.sleep(1)
        result = self.end_run()
        self.assertTrue(result.balanced and not result.faults, result)
        run = weir.Run(os.path.join(self.folder, "out"), result.run)
        self.assertGreater(len(run), 300)
        whole = 0
        for one in run:
            data = [bytes(fragment.data) for fragment in one.fragments if fragment.status == "ok"]
            whole += len(data) == 2
            for fragment in data:
                tags, blocks = unpack(fragment)
                self.assertEqual(tags, {"number": one.id})
                self.assertIn(b"".join(blocks), (b"Board.one" + bytes(100), b"Board.two" + bytes(100)))
        self.assertGreater(whole, 300)

        # The source host dies: records are lost and counted, and the run goes on.
        self.controller.constellation.start("beam2")
        self.reach(SatelliteState.RUN)
        host = self.host_of_readout()
        time.sleep(0.3)
        os.kill(host, signal.SIGKILL)
        self.wait_for(lambda: self.host_of_readout() not in (0, host), "no other host")
        time.sleep(1)
        result = self.end_run()
        self.assertTrue(result.balanced and result.faults, result)
        self.assertIn("records are lost", self.log())

        # The satellite dies: its successor stops the run, and leads the next one.
        self.controller.constellation.start("beam3")
        self.reach(SatelliteState.RUN)
        self.children["Weir.farm"].kill()
        self.children["Weir.farm"].wait()
        self.wait_for(lambda: self.farm.status().state == "running", "the run did not go on")
        self.end_children()
        self.begin_all()
        self.begin_run()
        self.assertIn("was on without its satellite", self.log())
        time.sleep(0.5)
        self.assertTrue(self.end_run().balanced)

        # Run control dies: the satellite goes to the state ERROR.
        self.controller.constellation.start("beam5")
        self.reach(SatelliteState.RUN)
        self.farm._process.kill()
        states = lambda: self.controller.states  # noqa: E731
        self.wait_for(lambda: SatelliteState.ERROR in states().values(), "no error of Weir")

    def host_of_readout(self):
        """The process of the sources that was started last; 0: none."""
        found = []
        for path in glob.glob(os.path.join(self.folder, "out", "log", "*.log")):
            with open(path, encoding="utf-8") as log:
                found += re.findall(r"^(\S+) .*host ready pid=(\d+)", log.read(), re.MULTILINE)
        return int(max(found)[1]) if found else 0


if __name__ == "__main__":
    try:
        main()
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))  # a controller's threads outlive it
