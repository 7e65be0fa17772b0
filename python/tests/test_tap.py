import os
import struct
import threading
import unittest

from support import ROOT, main, make_record, require

require("numpy", "crc32c", "zmq", "google.protobuf")

import zmq
from test_record import golden_record

import weir_daq as weir
from weir_daq import bus


def sample(numbering, sequence, record):
    return struct.pack("<4sHHQQQQ", b"WTAP", 1, 40, numbering, sequence, 0, sequence + 1) + record


class Farm(threading.Thread):
    """Answers wishes as run control does, and publishes samples until it is told to end."""

    def __init__(self, samples, refusal=""):
        super().__init__(daemon=True)
        self.samples, self.refusal = samples, refusal
        self.wishes, self.ends, self.over = 0, threading.Event(), threading.Event()
        self.context = zmq.Context()
        self.commands = self.context.socket(zmq.ROUTER)
        self.port = self.commands.bind_to_random_port("tcp://127.0.0.1")
        self.published = self.context.socket(zmq.XPUB)
        self.published_port = self.published.bind_to_random_port("tcp://127.0.0.1")
        self.start()

    def run(self):
        while not self.over.is_set():
            if self.published.poll(0):
                tag = self.published.recv()
                for one in self.samples if tag[:1] == b"\1" else ():
                    self.published.send(tag[1:] + b"dcm-0\0" + one)
            if self.commands.poll(5):
                self.answer(*self.commands.recv_multipart())
        self.context.destroy(linger=0)

    def answer(self, client, data):
        message = bus.message("BusMessage")
        message.ParseFromString(data)
        request, wish = message.request, message.request.tap
        if wish.ends:
            self.ends.set()
        self.wishes += 1
        tags = [f"tap.{stream}.{wish.id}." for stream in wish.streams]
        place = bus.message("TapPlace", subscribe_port=self.published_port, tags=tags, lease_ms=300, dcms=1)
        reply = bus.message("Reply", id=request.id, good=not self.refusal, error=self.refusal, tap=place)
        self.commands.send_multipart([client, bus.message("BusMessage", reply=reply).SerializeToString()])

    def close(self):
        self.over.set()
        self.join(10)


class TapTest(unittest.TestCase):
    def farm(self, samples=(), refusal=""):
        farm = Farm(samples, refusal)
        self.addCleanup(farm.close)
        return farm

    def test_slices_come_and_gaps_are_counted(self):
        record = golden_record()
        farm = self.farm([sample(1, 4, record), sample(1, 5, record), sample(1, 9, record), b"junk",
                          sample(2, 1, record)])
        with weir.Tap("127.0.0.1:%d" % farm.port, "raw") as tap:
            taken = [tap.take(5.0) for _ in range(4)]
            self.assertIsNone(tap.take(0.2))
            self.assertEqual([one.id for one in taken], [weir.parse_slice(record).id] * 4)
            self.assertEqual((taken[0].stream, taken[0].dcm_name), ("raw", "dcm-0"))
            self.assertEqual((tap.received, tap.lost, tap.malformed, tap.seen), (4, 4, 1, 12))

    def test_windows_of_time_come_with_their_pieces(self):
        with open(os.path.join(ROOT, "libs/readout/source/tests/golden/window.bin"), "rb") as file:
            record = make_record(3, [(5, file.read())])
        farm = self.farm([sample(1, 1, record)])
        with weir.Tap("127.0.0.1:%d" % farm.port, "raw") as tap:
            pieces = weir.decode_pieces(tap.take(5.0).fragment(5).data)
        self.assertEqual((pieces.time_ns, pieces.before_ns), (1000, 10))
        self.assertEqual(pieces.table["offset_ns"].tolist(), [-5, 50, 95])
        self.assertEqual((pieces.table["flags"] & weir.pieces.BORDER).tolist(), [1, 0, 1])

    def test_the_client_says_that_it_is_there_and_that_it_goes(self):
        farm = self.farm()
        with weir.Tap("127.0.0.1:%d" % farm.port) as tap:
            self.assertIsNone(tap.take(1.0))
            self.assertGreaterEqual(farm.wishes, 4)
        self.assertTrue(farm.ends.wait(5))

    def test_a_refusal_and_a_silence_say_why(self):
        farm = self.farm(refusal="no stream 'cooked'")
        with self.assertRaisesRegex(weir.TapError, "cooked"):
            weir.Tap("127.0.0.1:%d" % farm.port, "cooked")
        with self.assertRaisesRegex(weir.TapError, "does not answer"):
            weir.Tap("127.0.0.1:1", timeout_s=0.2)


if __name__ == "__main__":
    main()
