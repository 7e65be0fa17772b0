import os
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GOLDEN = os.path.join(ROOT, "libs/storage/tests/golden/run_file_v1.weir")
sys.path.insert(0, os.path.join(ROOT, "python"))

import weir  # noqa: E402
from weir import bus, record  # noqa: E402


def golden_record():
    """The bytes of the committed file's first slice record."""
    with open(GOLDEN, "rb") as file:
        data = file.read()
    at = struct.unpack_from("<I", data, 12)[0]
    while True:
        magic, _, _, body, kind, _, _ = struct.unpack_from("<4sIQQHHI", data, at)
        assert magic == b"WREC"
        if kind == 1:
            return data[at + 32:at + 32 + body]
        at += 32 + (body + 7) // 8 * 8


class RecordTest(unittest.TestCase):
    def test_the_checksum_is_that_of_the_format(self):
        self.assertEqual(record.crc32c(b"123456789"), 0xE3069283)

    def test_the_committed_run_file_is_read_whole(self):
        slices = list(weir.read_run_file(GOLDEN, check=True))
        self.assertGreater(len(slices), 0)
        for one in slices:
            for fragment in one.fragments:
                self.assertTrue(fragment.is_sound(), "slice %d source %d" % (one.id, fragment.source))
                self.assertEqual(one.fragment(fragment.source), fragment)
                self.assertNotIn("unknown", (fragment.status, fragment.reason))
        self.assertTrue(any(one.fragments for one in slices))

    def test_a_record_that_is_cut_or_lengthened_is_refused(self):
        good = golden_record()
        weir.parse_slice(good)
        for length in range(len(good)):
            with self.assertRaises(weir.FormatError):
                weir.parse_slice(good[:length])
        with self.assertRaises(weir.FormatError):
            weir.parse_slice(good + b"\0" * 8)

    def test_a_flipped_bit_is_found_or_does_no_harm(self):
        good = golden_record()
        for at in range(min(len(good), 400)):
            bad = bytearray(good)
            bad[at] ^= 0x10
            try:
                one = weir.parse_slice(bytes(bad), check=True)
            except weir.FormatError:
                continue
            self.assertFalse(all(fragment.is_sound() for fragment in one.fragments), "byte %d" % at)

    def test_what_is_no_run_file_is_named(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x" * 200)
            file.flush()
            with self.assertRaisesRegex(weir.FormatError, "is no run file"):
                list(weir.read_run_file(file.name))

    def test_a_file_that_ends_in_a_record_gives_those_before(self):
        whole = list(weir.read_run_file(GOLDEN))
        with open(GOLDEN, "rb") as file:
            data = file.read()
        with tempfile.NamedTemporaryFile() as part:
            part.write(data[:len(data) - 300])
            part.flush()
            self.assertLessEqual(len(list(weir.read_run_file(part.name))), len(whole))


class BusTest(unittest.TestCase):
    def test_a_request_holds_what_was_wished(self):
        body = dict(bus.fields(bus.tap_request(7, "0123456789abcdef", ["raw", "debug"], 300, [1, 70000], True)))[8]
        request = dict(bus.fields(body))
        self.assertEqual((request[1], request[2]), (7, b"tap"))
        wish = list(bus.fields(request[8]))
        self.assertEqual([value for number, value in wish if number == 2], [b"raw", b"debug"])
        self.assertEqual(dict(wish)[3], 300)
        self.assertEqual(dict(wish)[4], b"\x01\xf0\xa2\x04")
        self.assertEqual(dict(wish)[6], 1)

    def test_a_reply_is_taken_apart(self):
        place = bus._number(1, 7702) + bus._bytes(2, "tap.raw.x.") + bus._number(3, 5000) + bus._number(4, 3)
        reply = bus._bytes(9, bus._number(1, 1) + bus._number(2, 1) + bus._bytes(5, place))
        self.assertEqual(bus.tap_reply(reply), ("", 7702, [b"tap.raw.x."], 5.0, 3))
        refusal = bus._bytes(9, bus._number(1, 1) + bus._bytes(3, "no"))
        self.assertEqual(bus.tap_reply(refusal)[0], "no")
        self.assertIsNone(bus.tap_reply(bus._bytes(2, b"")))

    def test_messages_that_are_cut_are_refused(self):
        whole = bus.tap_request(7, "0123456789abcdef", ["raw"], 1, [])
        for length in range(1, len(whole)):
            with self.assertRaises(ValueError):
                list(bus.fields(whole[:length]))

    def test_a_sample_that_is_none_is_refused(self):
        head = struct.pack("<4sHHQQQQ", b"WTAP", 1, 40, 1, 2, 3, 4)
        self.assertEqual(bus.parse_sample(head + b"ab")[0], (1, 2, 3, 4))
        self.assertEqual(bytes(bus.parse_sample(head + b"ab")[1]), b"ab")
        for bad in (head[:39], b"X" + head[1:], head[:4] + b"\2" + head[5:], head[:6] + b"\x29" + head[7:]):
            with self.assertRaises(ValueError):
                bus.parse_sample(bad)

    def test_keys_that_lack_a_line_are_named(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("weir-curve-keys 1\nrole observer\nserver s\npublic p\n")
            file.flush()
            with self.assertRaisesRegex(ValueError, "secret"):
                bus.read_keys(file.name)


class ExampleTest(unittest.TestCase):
    def test_the_example_draws_a_run_file(self):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "python/examples/fragment_sizes.py"), GOLDEN],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("#", done.stdout)


if __name__ == "__main__":
    unittest.main()
