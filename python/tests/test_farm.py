import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import ROOT, main, require

require("numpy", "crc32c", "zmq", "google.protobuf")

import weir_daq as weir

WEIR = os.path.join(os.environ.get("WEIR_BIN_DIR", os.path.join(ROOT, "build/release/bin")), "weir")
if not os.path.exists(os.path.join(os.path.dirname(WEIR), "weir-run-control")):
    print(f"SKIPPED: no executables beside {WEIR}")
    raise SystemExit(77)

FARM = """
farm: scanned
run: {out: %s}
trigger: {mode: rate, rate_hz: 2000}
source: {size_bytes: 100}
readout: {count: 2}
dcm: {count: 1}
filter: {plugin: prescale, parameters: {n: 2}}
writer: {count: 1}
"""


class FarmTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.file = os.path.join(self.folder, "farm.yaml")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(FARM % os.path.join(self.folder, "out"))

    def test_a_scan_takes_a_run_per_value_and_accounts_for_each(self):
        with weir.Farm(self.file, weir=WEIR, timeout_s=30) as farm:
            self.assertEqual(farm.status().state, "idle")
            points = farm.scan("filter.parameters.n", [1, 2, 5], slices=100, progress=False)
            self.assertEqual([point.value for point in points], [1, 2, 5])
            for point in points:
                self.assertEqual((point.result.triggered, point.result.balanced), (100, True))
            stored = [point.result.stored for point in points]
            self.assertEqual(stored, [100, 50, 20])
            numbers = [point.result.run for point in points]
            self.assertEqual(numbers, sorted(set(numbers)))
        for number, count in zip(numbers, stored):
            self.assertEqual(len(weir.Run(os.path.join(self.folder, "out"), number)), count)

    def test_a_joined_farm_is_paused_continued_and_stopped_and_stays(self):
        with weir.Farm(self.file, weir=WEIR, timeout_s=30) as farm:
            with weir.Farm(connect=farm.connect) as joined:
                run = joined.start(fields={"type": "laser"})
                self.assertEqual((joined.status().state, joined.status().fields), ("running", {"type": "laser"}))
                joined.pause()
                self.assertEqual(farm.status().state, "paused")
                joined.continue_run()
                with self.assertRaisesRegex(weir.ControlError, "has not ended"):
                    joined.wait(0.2)
                result = joined.stop("enough")
                self.assertEqual((result.run, result.balanced), (run, True))
                joined.annotate(run, {"quality": "good"})
                with self.assertRaisesRegex(weir.ControlError, "is not a quality"):
                    joined.annotate(run, {"quality": "fine"})
            status = farm.status()
            self.assertEqual(status.state, "ready")
            self.assertEqual({node.role for node in status.nodes}, {"supervisor", "readout", "dcm", "writer"})
            pids = [node.pid for node in status.nodes]
        for pid in pids:
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)

    def test_a_farm_ends_with_a_killed_program_and_survives_its_interrupt(self):
        program = (
            "import os, signal, sys, weir_daq\n"
            "farm = weir_daq.Farm(sys.argv[1], weir=sys.argv[2])\n"
            "farm.start()\n"
            "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
            "os.killpg(0, signal.SIGINT)\n"
            "print(farm.status().state, *[node.pid for node in farm.status().nodes], flush=True)\n"
            "sys.stdin.read()\n"
        )
        process = subprocess.Popen([sys.executable, "-B", "-c", program, self.file, WEIR], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, start_new_session=True,
                                   env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")})
        state, *pids = process.stdout.readline().split()
        self.assertEqual((state, len(pids)), (b"running", 5))
        process.kill()
        process.communicate()
        until = time.monotonic() + 60
        while any(os.path.exists(f"/proc/{int(pid)}") for pid in pids):
            self.assertLess(time.monotonic(), until, "the farm's processes are still there")
            time.sleep(0.05)

    def test_what_a_started_farm_writes_is_read_while_it_writes(self):
        chatty = os.path.join(self.folder, "chatty")
        with open(chatty, "w", encoding="utf-8") as file:
            file.write(
                f"#!{sys.executable}\nimport os, time\n"
                "os.write(1, b'weir ctl --connect 127.0.0.1:1 status\\n')\n"
                "time.sleep(0.3)\nfor line in range(50000):\n    os.write(1, b'line %05d\\n' % line)\n"
            )
        os.chmod(chatty, 0o755)
        farm = weir.Farm.__new__(weir.Farm)
        farm._process = None
        self.assertEqual(farm._launch(self.file, {}, chatty), "127.0.0.1:1")
        self.addCleanup(farm._output.close)
        while farm._process.poll() is None:
            farm._said()
        first, *lines = farm._said().splitlines()
        self.assertEqual(first, b"weir ctl --connect 127.0.0.1:1 status")
        self.assertEqual(lines, [b"line %05d" % line for line in range(50000)])

    def test_errors_have_run_controls_sentence(self):
        with weir.Farm(self.file, weir=WEIR, timeout_s=30) as farm:
            with self.assertRaisesRegex(weir.ControlError, "refuses `pause`"):
                farm.pause()
            with self.assertRaisesRegex(weir.ControlError, "no.such.key"):
                farm.configure({"no.such.key": 1})
        with self.assertRaisesRegex(weir.ControlError, "does not answer"):
            weir.Farm(connect="127.0.0.1:1", timeout_s=0.2)
        with self.assertRaisesRegex(weir.ControlError, "ended"):
            weir.Farm(os.path.join(self.folder, "nowhere.yaml"), weir=WEIR)
        with self.assertRaisesRegex(weir.ControlError, "install Weir"):
            weir.Farm(self.file, weir="no-such-command")
        with self.assertRaisesRegex(ValueError, "is an address of a page: give HOST:PORT of control.listen"):
            weir.Farm(connect="https://127.0.0.1:8443/")

    def test_a_refused_configure_is_an_error_with_its_reason(self):
        with weir.Farm(self.file, weir=WEIR, timeout_s=30) as farm:
            for _ in range(2):
                with self.assertRaisesRegex(weir.ControlError, "`configure` is refused: dcm-0: .*no-such-filter"):
                    farm.configure({"filter.plugin": "no-such-filter"})
            with self.assertRaisesRegex(weir.ControlError, "`configure` is refused: .*no-such-filter"):
                farm.start(slices=10)
            farm.configure({"filter.plugin": "prescale"})
            farm.start(slices=10)
            self.assertEqual(farm.wait(60).stored, 5)

    def test_a_farm_that_refuses_to_end_is_ended(self):
        slow = os.path.join(self.folder, "slow.py")
        with open(slow, "w", encoding="utf-8") as file:
            file.write("import time\n\n\nclass Filter:\n    def __init__(self, setup):\n        time.sleep(600)\n")
        farm = weir.Farm(self.file, weir=WEIR, timeout_s=30)
        farm._lead("init")
        farm._request("configure", sets=[f"filter.plugin={slow}"])
        self.assertEqual(farm.status().under_way, "configure")
        began = time.monotonic()
        farm.close()
        self.assertLess(time.monotonic() - began, 25)
        self.assertIsNotNone(farm._process.returncode)

    def test_an_interrupted_scan_stops_its_run(self):
        with weir.Farm(self.file, weir=WEIR, timeout_s=30) as farm:
            real = farm.wait

            def interrupted(timeout_s=None, each=None):
                raise KeyboardInterrupt

            farm.wait = interrupted
            with self.assertRaises(KeyboardInterrupt):
                farm.scan("filter.parameters.n", [1], slices=10_000_000, progress=False)
            farm.wait = real
            self.assertEqual(farm.status().state, "ready")


PROTECTED = """
control:
  listen: "10.91.0.1:7700"
  keys: %(folder)s/keys
  page: "10.91.0.1:8443"
  page_certificate: %(folder)s/page.pem
  page_key: %(folder)s/page.key
"""
JOIN = """
import sys, weir_daq
with weir_daq.Farm(connect=sys.argv[1], keys=sys.argv[2], timeout_s=20) as farm:
    farm.start(slices=50)
    print(farm.wait(60).stored)
"""


class AnotherHostTest(unittest.TestCase):
    """A farm with HTTPS and keys on one host, and clients on another: two network namespaces with a line."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.name = f"weir-test-{os.getpid()}"
        if not shutil.which("ip") or not shutil.which("openssl"):
            self.skipTest("needs ip and openssl")
        for host in ("farm", "desk"):
            if subprocess.run(["ip", "netns", "add", f"{self.name}-{host}"], capture_output=True).returncode != 0:
                self.skipTest("network namespaces need root")
            self.addCleanup(subprocess.run, ["ip", "netns", "del", f"{self.name}-{host}"])
        self.ip("farm", "link", "add", "line", "type", "veth", "peer", "name", "line", "netns", f"{self.name}-desk")
        for host, address in (("farm", "10.91.0.1/24"), ("desk", "10.91.0.2/24")):
            self.ip(host, "address", "add", address, "dev", "line")
            self.ip(host, "link", "set", "lo", "up")
            self.ip(host, "link", "set", "line", "up")

    def ip(self, host, *words):
        subprocess.run(["ip", "-n", f"{self.name}-{host}", *words], check=True)

    def on(self, host, *command):
        return ["ip", "netns", "exec", f"{self.name}-{host}", *command]

    def at_desk(self, *command):
        environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python"),
                       "SSL_CERT_FILE": os.path.join(self.folder, "page.pem")}
        return subprocess.run(self.on("desk", *command), capture_output=True, text=True, timeout=60, env=environment)

    def test_a_farm_with_https_is_led_from_another_host_over_its_bus(self):
        keys, file = os.path.join(self.folder, "keys"), os.path.join(self.folder, "farm.yaml")
        subprocess.run([WEIR, "keys", "new", keys], check=True, capture_output=True)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-subj", "/CN=daq", "-addext", "subjectAltName=IP:10.91.0.1", "-keyout", "page.key", "-out",
                        "page.pem"], check=True, capture_output=True, cwd=self.folder)
        with open(file, "w", encoding="utf-8") as text:
            text.write(FARM % os.path.join(self.folder, "out") + PROTECTED % {"folder": self.folder})
        with open(os.path.join(self.folder, "up.log"), "w", encoding="utf-8") as log:
            up = subprocess.Popen(self.on("farm", WEIR, "up", file), stdout=log, stderr=log)
        self.addCleanup(up.wait)
        self.addCleanup(up.terminate)
        until = time.monotonic() + 60
        while (known := self.at_desk(WEIR, "ctl", "--farm", file, "status")).returncode != 0:
            self.assertLess(time.monotonic(), until, known.stderr)
        led = self.at_desk(sys.executable, "-B", "-c", JOIN, "10.91.0.1:7700", keys)
        self.assertEqual((led.stdout, led.returncode), ("25\n", 0), led.stderr)
        # Likely mistakes: the page's address, and its port.
        page = self.at_desk(WEIR, "ctl", "--connect", "https://10.91.0.1:8443", "--keys", keys, "status")
        self.assertEqual(page.returncode, 2)
        self.assertIn("is an address of a page: give HOST:PORT of run control's bus", page.stderr)
        port = self.at_desk(WEIR, "ctl", "--connect", "10.91.0.1:8443", "--keys", keys, "--timeout", "0.5", "status")
        self.assertEqual(port.returncode, 3)
        self.assertIn("the port of control.listen and not the page's", port.stderr)
        host = self.at_desk(WEIR, "ctl", "--connect", "0.0.0.0:7700", "--keys", keys, "--timeout", "0.5", "status")
        self.assertIn("from another host, give --connect HOST:7700", host.stderr)
        shown = self.at_desk(WEIR, "top", "--once", "https://10.91.0.1:8443")
        self.assertIn("supervisor", shown.stdout, shown.stderr)
        off = self.at_desk(WEIR, "ctl", "--connect", "10.91.0.1:7700", "--keys", keys, "off")
        self.assertEqual(off.returncode, 0, off.stderr)
        self.assertEqual(up.wait(60), 0)


if __name__ == "__main__":
    signal.alarm(280)  # before ctest's own limit, with a traceback less
    main()
