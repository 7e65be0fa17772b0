"""weir_daq.Source and its host: classes, parameters, bytes, records for the readout."""

import contextlib
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from support import ROOT, main, require

require("numpy")
import numpy as np

import weir_daq
from weir_daq import source_host
from weir_daq.sources import ParameterError, RunInfo, SourceServices, SourceSetup, as_bytes
from weir_daq.streams import Stream

BIN = os.environ.get("WEIR_BIN_DIR", os.path.join(ROOT, "build/release/bin"))
HAS_HOST = os.path.exists(os.path.join(os.path.dirname(BIN), "lib/weir/weir-source-host.so"))


class Lane(SourceServices):
    """Keeps what sources send."""

    def __init__(self):
        self.sent, self.told, self.logs, self.stamps = [], [], [], []

    def send(self, source, slice_id, status, data, stamp=None):
        if stamp is not None:
            self.stamps.append((source, slice_id, *struct.unpack("<I4xQqq", stamp)))
        self.sent.append((source, slice_id, status, bytes(as_bytes(data))))
        return True

    def send_many(self, source, slice_ids, data, stamps=None):
        if len(data) != len(slice_ids):
            raise ValueError(f"{len(data)} fragments for {len(slice_ids)} slices")
        for place, (slice_id, one) in enumerate(zip(slice_ids, data)):
            if one is None:
                self.missing(source, slice_id)
            else:
                self.send(source, slice_id, 0, one, None if stamps is None else stamps[place].tobytes())
        return True

    def send_pieces(self, source, slice_ids, pieces):
        self.send_many(source, slice_ids, pieces)

    def missing(self, source, slice_id):
        self.sent.append((source, slice_id, 1, b""))

    def tell(self, kind, text="", source=0, number=0, status=0):
        self.told.append((kind, text, source, number, status))

    def log(self, level, text):
        self.logs.append(text)

    def count(self, name, amount):
        self.told.append((source_host._COUNT, name, 0, amount, 0))

    def note_time(self, time_ns):
        pass

    def report_delay(self):
        pass

    def passed(self, source, time_ns, gap):
        self.told.append((source_host._PASSED, "", source, time_ns, int(gap)))

    def failed(self):
        return [(text.splitlines()[0], source, number) for kind, text, source, number, _ in self.told
                if kind == source_host._FAILED]  # fmt: skip


def requests(*slices):
    found = np.zeros(len(slices), source_host._REQUEST)
    found["slice"] = slices
    return found


class SourcesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def process(self, text, sources=(1,), **parameters):
        path = os.path.join(self.folder.name, "one.py")
        names = list(parameters)
        setup = {
            "readout": [b"readout-0"],
            "index": [b"0"],
            "memory_bytes": [b"0"],
            "source": [str(one).encode() for one in sources],
            "parameter": [one.encode() for one in names],
            "value": [str(parameters[one]).encode() for one in names],
            "file": [path.encode()],
            "content": [("import weir_daq\n" + text).encode()],
        }
        self.lane = Lane()
        return source_host.Process(self.lane, setup)

    def test_a_source_is_asked_slice_by_slice_and_an_exception_costs_one_fragment(self):
        process = self.process(
            "class Ramp(weir_daq.Source):\n"
            "    '''a ramp'''\n"
            "    def __init__(self, setup): self.length = setup.parameter('length', 2)\n"
            "    def fragment(self, slice_id):\n"
            "        if slice_id == 7: raise ValueError('no data today')\n"
            "        if slice_id == 8: return None\n"
            "        if slice_id == 9: return 'text'\n"
            "        return bytes([slice_id]) * self.length\n",
            sources=(1, 4),
            length=3,
        )
        self.assertEqual(self.lane.told, [(source_host._READY, "one 0, a ramp", 0, 0, 1)])
        process.begin_run(RunInfo(1, 0))
        process._answer(requests(6, 7, 8, 9, 10))
        for source in (1, 4):
            sent = {number: (status, data) for one, number, status, data in self.lane.sent if one == source}
            self.assertEqual(sent, {6: (0, b"\6\6\6"), 8: (1, b""), 10: (0, b"\n\n\n")})
        failed = [(source, number) for _, source, number in self.lane.failed()]
        self.assertEqual(failed, [(1, 7), (1, 9), (4, 7), (4, 9)])
        self.assertEqual(self.lane.failed()[0][0], "ValueError: no data today (one.py:6)")
        self.assertIn("not str", self.lane.failed()[1][0])

    def test_a_batch_is_asked_at_once_and_an_exception_costs_the_batch(self):
        process = self.process(
            "import numpy\n"
            "class Batch(weir_daq.Source):\n"
            "    def fragments(self, slice_ids):\n"
            "        if 5 in slice_ids: raise KeyError(5)\n"
            "        if 9 in slice_ids: return [b'short']\n"
            "        return numpy.array(slice_ids, numpy.uint8)[:, None]\n"
        )
        process._answer(requests(1, 2))
        self.assertEqual(self.lane.sent, [(1, 1, 0, b"\1"), (1, 2, 0, b"\2")])
        process._answer(requests(4, 5))
        process._answer(requests(9, 10))
        self.assertEqual([number for _, _, number in self.lane.failed()], [4, 5, 9, 10])
        self.assertIn("1 fragments for 2 slices", self.lane.failed()[2][0])

    def test_a_listener_delivers_what_streams_send(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        process = self.process(
            "import weir_daq.streams\nclass Source(weir_daq.streams.Listener): pass\n",
            sources=[0],
            port=port,
            fragment_bytes_max=1 << 21,
        )
        process.begin_run(RunInfo(3, 0))
        sent = [(1, b"one"), (7, b""), (2, None), (3, bytes(range(256)) * 6000)]
        for _ in range(2):  # the second connection replaces the first
            with Stream("127.0.0.1", port) as stream:
                before = len(self.lane.sent)
                for slice_id, data in sent:
                    stream.send(slice_id, data)
                while len(self.lane.sent) < before + len(sent):
                    time.sleep(0.001)
        expected = [(0, slice_id, 1 if data is None else 0, data or b"") for slice_id, data in sent]
        self.assertEqual(self.lane.sent, 2 * expected)
        with Stream("127.0.0.1", port) as stream, contextlib.suppress(OSError):
            stream.send(8, bytes(1 << 22))
        while not self.lane.logs:
            time.sleep(0.001)
        self.assertIn("a fragment of 4194304 bytes, 2097152 are possible", self.lane.logs[0])
        with Stream("127.0.0.1", port) as stream:
            stream._socket.sendall(bytes(5))
        while len(self.lane.logs) < 2:
            time.sleep(0.001)
        self.assertIn("the connection ended inside a fragment", self.lane.logs[1])
        process.end_run()
        self.assertEqual(self.lane.sent, 2 * expected)

    def test_a_source_delivers_while_the_run_lasts(self):
        process = self.process(
            "class Sender(weir_daq.Source):\n"
            "    def begin_run(self, run): self.number = run.number\n"
            "    def run(self):\n"
            "        self.counter('events').add(2)\n"
            "        self.deliver(11, memoryview(b'abc'), status='truncated')\n"
            "        self.deliver_many([13, 12], [b'13', bytearray(b'12')])\n"
            "        while self.running: pass\n"
            "    def end_run(self): raise OSError('crate ' + str(self.number))\n"
        )
        self.assertEqual(self.lane.told[0][4], 0)
        self.assertFalse(process.sources[0].deliver(1, b"before the run"))
        process.begin_run(RunInfo(3, 0))
        while len(self.lane.sent) < 3:
            pass
        process.end_run()
        self.assertEqual(self.lane.sent, [(1, 11, 2, b"abc"), (1, 13, 0, b"13"), (1, 12, 0, b"12")])
        self.assertEqual(self.lane.told[-1][1], "source 1: OSError: crate 3 (one.py:9)")
        self.assertIn((source_host._COUNT, "events", 0, 2, 0), self.lane.told)

    def test_counters_and_times_come_with_the_fragments(self):
        process = self.process(
            "class Sender(weir_daq.Source):\n"
            "    def run(self):\n"
            "        self.deliver(11, b'a', counter=255)\n"
            "        self.deliver(12, b'b', time_ns=-9, duration_ns=4)\n"
            "        self.deliver_many([13, 14, 15], [b'c', None, b'd'], counter=[1, 2, 3], time_ns=[10, 20, 30])\n"
            "        self.deliver(16, b'e')\n"
            "        while self.running: pass\n"
        )
        process.begin_run(RunInfo(3, 0))
        while len(self.lane.sent) < 6:
            pass
        process.end_run()
        self.assertEqual(
            self.lane.stamps,
            [(1, 11, 1, 255, 0, 0), (1, 12, 2, 0, -9, 4), (1, 13, 3, 1, 10, 0), (1, 15, 3, 3, 30, 0)],
        )

    def test_pieces_have_times_and_progress_is_reported(self):
        process = self.process(
            "class Clock(weir_daq.Source):\n"
            "    def run(self):\n"
            "        self.deliver_piece(70, b'a', duration_ns=4)\n"
            "        self.passed(80)\n"
            "        self.passed(90, gap=True)\n"
            "        self.deliver(1, b'last')\n"
            "        while self.running: pass\n"
        )
        process.begin_run(RunInfo(3, 0))
        while len(self.lane.sent) < 2:
            pass
        process.end_run()
        self.assertEqual(self.lane.stamps, [(1, 0, 2, 0, 70, 4)])
        progress = [(source, number, status) for kind, _, source, number, status in self.lane.told
                    if kind == source_host._PASSED]  # fmt: skip
        self.assertEqual(progress, [(1, 80, 0), (1, 90, 1)])

    def test_a_class_that_is_not_a_source_is_refused_with_a_sentence(self):
        for text, sentence in (
            ("", "has to have one class derived from weir_daq.Source, and has none"),
            ("class A(weir_daq.Source): pass\n", "has neither fragment"),
            ("class A(weir_daq.Source):\n  def run(self): 0\n  def fragment(self, i): 0\n", "has both fragment"),
            ("class A(weir_daq.Source):\n  def run(self): 0\nclass B(A): pass\n", "has A, B"),
        ):
            with self.assertRaisesRegex(ParameterError, sentence):
                self.process(text)
        with self.assertRaisesRegex(ParameterError, "unknown parameter 'size': this source takes none"):
            self.process("class A(weir_daq.Source):\n  def run(self): 0\n", size=3)

    def test_bytes_of_many_kinds(self):
        self.assertEqual(bytes(as_bytes(np.arange(3, dtype="<u2"))), b"\0\0\1\0\2\0")
        self.assertEqual(bytes(as_bytes(np.arange(8, dtype="u1")[::2])), b"\0\2\4\6")
        self.assertEqual(bytes(as_bytes(np.zeros((0, 4)))), b"")
        self.assertEqual(bytes(as_bytes(memoryview(b"abcd")[::2])), b"ac")
        self.assertEqual(bytes(as_bytes(bytearray(b"ab"))), b"ab")
        for wrong in ("text", 5, [1, 2], None):
            with self.assertRaisesRegex(TypeError, "bytes, a memoryview or a NumPy array"):
                as_bytes(wrong)

    def test_a_source_needs_no_farm(self):
        class Ramp(weir_daq.Source):
            def __init__(self, setup):
                self.length = setup.parameter("length", 1, lowest=1)

            def fragment(self, slice_id):
                return bytes([slice_id]) * self.length

        self.assertEqual(Ramp(SourceSetup({"length": "2"}, source=1)).fragment(65), b"AA")

@unittest.skipUnless(HAS_HOST, "weir-source-host.so is not built")
class TryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {
            **os.environ,
            "WEIR_PYTHON": sys.executable,
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "PYTHONPATH": os.path.join(ROOT, "python"),
        }

    def weir(self, *words, status=0):
        done = subprocess.run(["weir", *words], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write("import weir_daq\n" + text)

    def test_a_new_project_passes_its_own_tests(self):
        self.assertIn("weir source try ./night_ramp.py", self.weir("source", "new", "night-ramp", "--python"))
        done = subprocess.run([sys.executable, "-m", "unittest", "-v"], cwd=os.path.join(self.folder, "night-ramp"),
                              env=self.environment, capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Ran 2 tests", done.stderr)
        self.assertNotIn("skipped", done.stderr)

    def test_a_trial_shows_counters_and_times(self):
        self.write(
            "clock.py",
            "import time\n"
            "class Clock(weir_daq.Source):\n"
            "  def run(self):\n"
            "    self.deliver(0, b'a', counter=7, time_ns=5)\n"
            "    self.deliver_many([1, 2], [b'b', bytes(9000)], counter=[8, 9])\n"
            "    self.deliver_many([3, 4], [b'c', None], time_ns=[6, 7], counter=[10, 11])\n"
            "    while self.running: time.sleep(0.01)\n",
        )
        out = self.weir("source", "try", "./clock.py", "--slices", "5", "--sources", "1", "--list")
        for line in ("slice 0 source 1: 1 bytes 61 counter 7 time 5", "slice 1 source 1: 1 bytes 62 counter 8",
                     "slice 2 source 1: 9000 bytes 0000000000000000 counter 9",
                     "slice 3 source 1: 1 bytes 63 counter 10 time 6"):  # fmt: skip
            self.assertIn(line + "\n", out)

    def test_a_trial_shows_the_fragments(self):
        self.write("ramp.py", "class Ramp(weir_daq.Source):\n  def fragment(self, i): return bytes([i, self.source])\n")
        out = self.weir("source", "try", "./ramp.py", "--slices", "3", "--sources", "2", "--list")
        self.assertIn("slice 2 source 2: 2 bytes 0202\n", out)
        self.assertIn("6 of 6 fragments, 12 bytes, 2 to 2 bytes each", out)

    def test_a_trial_has_the_errors_of_a_source(self):
        self.write("bad.py", "class Bad(weir_daq.Source):\n  def fragment(self, i): return 5 if i == 1 else b''\n")
        out = self.weir("source", "try", "./bad.py", "--slices", "3", status=1)
        self.assertIn("slice 1, source 1: TypeError: a fragment is bytes", out)
        self.assertIn("missing (not_produced): 1\n", out)
        self.write("end.py", "class End(weir_daq.Source):\n  def fragment(self, i): raise SystemExit(7)\n")
        out = self.weir("source", "try", "./end.py", "--slices", "3", status=1)
        self.assertIn("fault: source host of readout-0 ended: exit status 7, 3 fragments missing", out)
        self.write("mute.py", "class Mute(weir_daq.Source):\n  def run(self): pass\n")
        out = self.weir("source", "try", "./mute.py", "--slices", "3", "--wait-ms", "20", status=1)
        self.assertIn("nothing was delivered in 20 ms", out)
        self.assertIn("unknown parameter 'x'", self.weir("source", "try", "./bad.py", "--set", "x=1", status=2))
        self.assertIn("no such file", self.weir("source", "try", "./none.py", status=2))


if __name__ == "__main__":
    main()
