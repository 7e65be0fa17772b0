"""weir_daq.frontend: bytes of packets, and a farm with front-ends and a trigger in Python."""

import os
import re
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support import ROOT, main, require

require("crc32c", "numpy")
from weir_daq import ControlError, Run
from weir_daq.frontend import Sender, TriggerClient

GOLDEN = Path(ROOT) / "libs/readout/packets/tests/golden"
WEIR = os.path.join(os.environ.get("WEIR_BIN_DIR", os.path.join(ROOT, "build/release/bin")), "weir")


def received(**values):
    """The datagrams of a sender: calls of it are made by `with`."""

    class Receiver:
        def __enter__(self):
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.socket.bind(("127.0.0.1", 0))
            self.socket.settimeout(5)
            self.sender = Sender("127.0.0.1", self.socket.getsockname()[1], **values)
            return self

        def next(self):
            return self.socket.recv(1 << 16)

        def __exit__(self, *_):
            self.sender.close()
            self.socket.close()

    return Receiver()


def number(packet, at, size):
    return int.from_bytes(packet[at : at + size], "little")


class PacketTest(unittest.TestCase):
    def test_packets_have_the_bytes_of_the_format(self):
        with received(run=42, source=1003, session=0) as whole:
            whole.sender.packets = 0x11223344
            whole.sender.send(0x0102030405060708, b"a whole packet")
            self.assertEqual(whole.next(), (GOLDEN / "whole.bin").read_bytes())
            whole.sender.packets = 0x11223344
            whole.sender.mark(0x0102030405060708)
            self.assertEqual(whole.next(), (GOLDEN / "mark.bin").read_bytes())
        with received(run=42, source=1003, session=0xA1B2C3D4) as lives:
            lives.sender.packets = 0x11223344
            lives.sender.send(0x0102030405060708, b"a whole packet")
            self.assertEqual(lives.next(), (GOLDEN / "session.bin").read_bytes())

    def test_counter_and_time_make_the_header_longer(self):
        with received(run=42, source=1003, session=0) as stamped:
            stamped.sender.packets = 0x11223344
            stamped.sender.send(0x0102030405060708, b"a whole packet", counter=0x1112131415161718,
                                time_ns=0x2122232425262728, duration_ns=1000)
            self.assertEqual(stamped.next(), (GOLDEN / "stamped.bin").read_bytes())
            stamped.sender.send(1, b"", counter=5)
            packet = stamped.next()
            self.assertEqual((len(packet), number(packet, 48, 1), number(packet, 56, 8)), (80, 1, 5))
            stamped.sender.send(2, b"", time_ns=-1)
            packet = stamped.next()
            self.assertEqual((number(packet, 48, 1), packet[64:72]), (2, b"\xff" * 8))
        with received(source=3, datagram_bytes=90) as parts:
            parts.sender.send(9, bytes(range(20)), counter=1)
            packets = [parts.next() for _ in range(2)]
            self.assertEqual(b"".join(packet[80:] for packet in packets), bytes(range(20)))
        with received(source=3, datagram_bytes=80) as small, self.assertRaisesRegex(ValueError, "no room for data"):
            small.sender.send(9, b"x", counter=1)

    def test_the_last_of_several_parts_closes_the_slice(self):
        with received(source=3, datagram_bytes=148) as parts:
            data = bytes(range(250))
            parts.sender.send(9, data, truncated=True)
            packets = [parts.next() for _ in range(3)]
            self.assertEqual(b"".join(packet[48:] for packet in packets), data)
            self.assertEqual([number(packet, 24, 4) for packet in packets], [0, 1, 2])
            self.assertEqual([number(packet, 32, 4) for packet in packets], [0, 100, 200])
            self.assertEqual([number(packet, 36, 2) for packet in packets], [3, 3, 7])

    def test_the_end_repeats_the_last_mark_with_new_numbers(self):
        with received(source=3) as end:
            end.sender.send(9, b"")
            first = end.next()
            self.assertEqual((len(first), number(first, 5, 1), number(first, 36, 2)), (48, 1, 5))
            end.sender.close()
            marks = [end.next() for _ in range(3)]
            self.assertEqual([(number(mark, 5, 1), number(mark, 16, 8), number(mark, 24, 4)) for mark in marks],
                             [(2, 9, 1), (2, 9, 2), (2, 9, 3)])

    def test_the_client_has_the_version_and_role_of_the_wire(self):
        from weir_daq import frontend

        header = Path(ROOT, "libs/network/wire/include/weir/wire/frame.hpp").read_text(encoding="utf-8")
        schema = Path(ROOT, "proto/weir/v1/control.proto").read_text(encoding="utf-8")
        self.assertEqual(frontend._WIRE_VERSION, int(re.search(r"kVersion = (\d+)", header)[1]))
        self.assertEqual(frontend._ROLE_TRIGGER, int(re.search(r"ROLE_TRIGGER = (\d+)", schema)[1]))
        self.assertEqual(frontend._OFFER, int(re.search(r"TriggerOffer trigger = (\d+)", schema)[1]))
        self.assertEqual(frontend._ANSWER, int(re.search(r"TriggerAnswer trigger_answer = (\d+)", schema)[1]))


def free_ports():
    """Two ports in a row."""
    while True:
        with socket.socket(type=socket.SOCK_DGRAM) as one, socket.socket(type=socket.SOCK_DGRAM) as two:
            one.bind(("127.0.0.1", 0))
            try:
                two.bind(("127.0.0.1", one.getsockname()[1] + 1))
            except OSError:
                continue
            return one.getsockname()[1]


class FarmTest(unittest.TestCase):
    def start(self, folder, port):
        keys = (f"source.parameters.port={port}", "trigger.listen=127.0.0.1:0", "filter.plugin=accept-all",
                "readout.sources_per_readout=1", "source.wait_ms=5000", "dcm.deadline_ms=20000")
        command = [WEIR, "run", os.path.join(ROOT, "configs/udp.yaml"), "--out", folder + "/run"]
        command += [f"--set={key}" for key in keys]
        log = open(os.path.join(folder, "out.txt"), "w", encoding="utf-8")
        self.addCleanup(log.close)
        self.farm = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
        self.addCleanup(self.end)
        return int(self.wait_for(folder, "supervisor", r"triggers=127\.0\.0\.1:(\d+)"))

    def wait_for(self, folder, node, pattern):
        file = Path(folder, "run/log", node + ".log")
        until = time.monotonic() + 60
        while time.monotonic() < until:
            found = re.search(pattern, file.read_text(encoding="utf-8")) if file.exists() else None
            if found:
                return found[1] if found.groups() else found[0]
            if self.farm.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(Path(folder, "out.txt").read_text(encoding="utf-8"))

    def end(self):
        if self.farm.poll() is None:
            self.farm.kill()
        self.farm.wait()

    def test_a_farm_builds_what_python_sends(self):
        with tempfile.TemporaryDirectory() as folder:
            port = free_ports()
            at = self.start(folder, port)
            for node in ("supervisor", "readout-0", "readout-1"):
                self.wait_for(folder, node, "run began")
            with self.assertRaisesRegex(ControlError, "refuses: .*farm"):
                TriggerClient("127.0.0.1", at, farm="another")
            taken = {}
            with Sender("127.0.0.1", port, source=1) as one, Sender("127.0.0.1", port + 1, source=2) as two, \
                    TriggerClient("127.0.0.1", at, farm="udp") as trigger:
                for event in range(200):
                    slice_id = trigger.offer(kind=event % 3, payload=bytes([event]))
                    while slice_id is None:
                        time.sleep(0.01)
                        slice_id = trigger.offer(kind=event % 3, payload=bytes([event]))
                    data = bytes([event]) * (event * 37 % 5000)
                    one.send(slice_id, data)
                    if event % 10:
                        two.send(slice_id, data[::2])
                    else:
                        two.mark(slice_id)
                    taken[slice_id] = (event, data)
                own = max(taken) + 5
                self.assertEqual(trigger.offer(own), own)
                self.assertIsNone(trigger.offer(own))
                self.assertEqual(trigger.busy, "duplicate_id")
                one.mark(own)
                two.mark(own)
                for _ in range(50):
                    trigger.post(own + 1)
                answers = [trigger.answer() for _ in range(50)]
                self.assertEqual([answer.slice_id for answer in answers], [own + 1] + 49 * [None])
                one.mark(own + 1)
                two.mark(own + 1)
            self.farm.send_signal(2)
            self.assertEqual(self.farm.wait(timeout=60), 0, Path(folder, "out.txt").read_text(encoding="utf-8"))
            run = Run(folder + "/run")
            self.assertEqual(len(run), 202)
            for slice_id, (event, data) in taken.items():
                built = run.slice(slice_id)
                self.assertEqual((built.trigger_type, bytes(built.trigger_payload)), (event % 3, bytes([event])))
                self.assertEqual(bytes(built.fragment(1).data), data)
                second = built.fragment(2)
                self.assertEqual((second.kept, bytes(second.data) if second.kept else second.reason),
                                 (True, data[::2]) if event % 10 else (False, "not_produced"))


if __name__ == "__main__":
    main()
