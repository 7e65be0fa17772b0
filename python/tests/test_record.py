import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from support import GOLDEN, ROOT, main, require

require("numpy", "crc32c")

import weir_daq as weir
from weir_daq import bus, record


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
            with self.assertRaisesRegex(weir.FormatError, "not a run file"):
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
    @classmethod
    def setUpClass(cls):
        try:
            bus.message("Request")
        except weir.MissingPackageError as error:
            raise unittest.SkipTest(str(error)) from None

    def test_a_request_holds_its_values(self):
        wish = bus.message("TapWish", id="0123456789abcdef", streams=["raw", "debug"], every=300, sources=[1, 70000])
        got = bus.message("BusMessage")
        got.ParseFromString(bus.request(id=7, command="tap", tap=wish))
        self.assertEqual((got.request.id, got.request.command), (7, "tap"))
        self.assertEqual(list(got.request.tap.streams), ["raw", "debug"])
        self.assertEqual(list(got.request.tap.sources), [1, 70000])

    def test_a_reply_is_decoded_and_other_messages_are_not(self):
        place = bus.message("TapPlace", subscribe_port=7702, tags=["tap.raw.x."], lease_ms=5000, dcms=3)
        message = bus.message("BusMessage", reply=bus.message("Reply", id=1, good=True, tap=place))
        self.assertEqual(bus.reply(message.SerializeToString()).tap.tags, ["tap.raw.x."])
        self.assertIsNone(bus.reply(bus.request(id=1, command="status")))

    def test_messages_that_are_cut_are_refused(self):
        whole = bus.request(id=7, command="status")
        for length in range(1, len(whole)):
            with self.assertRaises(ValueError):
                bus.reply(whole[:length])

    def test_the_schema_is_the_one_of_the_proto_files(self):
        protoc = shutil.which("protoc")
        if protoc is None:
            self.skipTest("protoc is not installed")
        from google.protobuf import descriptor_pb2

        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "set")
            command = [protoc, "-I", os.path.join(ROOT, "proto"), "--include_imports", "-o", out, "weir/v1/bus.proto"]
            subprocess.run(command, check=True)
            with open(out, "rb") as file:
                files = descriptor_pb2.FileDescriptorSet.FromString(file.read()).file
        messages = [message for one in files for message in one.message_type]
        compared = self.compare(messages, bus._file_descriptor().message_type)
        self.assertGreater(compared, 60)

    def compare(self, theirs, ours):
        """Returns how many fields of ours there are; each has to be alike in theirs."""
        by_name = {message.name: message for message in theirs}
        compared = 0
        for message in ours:
            fields = {field.name: field for field in by_name[message.name].field}
            for field in message.field:
                other = fields[field.name]
                self.assertEqual(
                    (field.number, field.type, field.label, field.type_name),
                    (other.number, other.type, other.label, other.type_name),
                    f"{message.name}.{field.name}",
                )
            compared += len(message.field) + self.compare(by_name[message.name].nested_type, message.nested_type)
        return compared

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

    def test_a_folder_of_keys_has_those_of_the_role(self):
        with tempfile.TemporaryDirectory() as folder:
            for role in ("operator", "observer"):
                with open(os.path.join(folder, role + ".curve"), "w", encoding="utf-8") as file:
                    file.write(f"weir-curve-keys 1\nrole {role}\nserver s\npublic p\nsecret of-{role}\n")
            self.assertEqual(bus.read_keys(folder, "observer")["secret"], b"of-observer")
            self.assertEqual(bus.read_keys(folder, "operator")["secret"], b"of-operator")


class ExampleTest(unittest.TestCase):
    def test_the_example_draws_a_run_file(self):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "python/examples/fragment_sizes.py"), GOLDEN],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("#", done.stdout)


if __name__ == "__main__":
    main()
