import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from support import ROOT, Folder, main, make_record, random_bytes, require, write_run

require("numpy", "crc32c")

import numpy as np

import weir_daq as weir
from weir_daq import convert, formats
from weir_daq.batches import batch_of
from weir_daq.publish import StagedFolder

KILLS = int(os.environ.get("WEIR_TEST_KILLS", "5"))


def available():
    """Returns the formats with installed packages."""
    found = []
    for name in formats.FORMATS:
        try:
            formats.load(name)
            found.append(name)
        except weir.MissingPackageError:
            pass
    return found


def command(*arguments):
    return [sys.executable, "-m", "weir_daq", *map(str, arguments)]


ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")}


class ConvertTest(Folder):
    def test_every_format_gives_back_every_byte_in_several_parts_and_batches(self):
        run = self.run_of()
        whole = batch_of(run)
        for to in available():
            for jobs in (1, 2):
                with self.subTest(to=to, jobs=jobs):
                    out = self.out(f"{to}-{jobs}")
                    done = convert.convert(run, to, out, jobs=jobs, memory=64 << 10, part_bytes=70_000)
                    self.assertEqual((done["slices"], done["run"], done["damaged_fragments"]), (60, 7, []))
                    self.assertGreater(len(done["parts"]), 1)
                    with open(os.path.join(out, "manifest.json"), encoding="utf-8") as file:
                        self.assertEqual(json.load(file), done)
                    self.assertEqual(sum(part["data"] for part in done["parts"]), len(whole.data))
                    self.assertEqual(sum(part["slices"] for part in done["parts"]), 60)

    def test_a_part_that_reads_back_differently_publishes_nothing(self):
        run = self.run_of(4)
        module = formats.load("npz")
        honest = module.read_part

        def dishonest(path, extents, options):
            for batch in honest(path, extents, options):
                batch.data[3] ^= 1
                yield batch

        module.read_part = dishonest
        self.addCleanup(setattr, module, "read_part", honest)
        with self.assertRaisesRegex(weir.ConvertError, "column 'data' reads back differently"):
            convert.convert(run, "npz", self.out(), jobs=1)
        self.assertEqual([name for name in os.listdir(self.folder) if "out" in name], [])

    def test_slices_without_fragments_or_bytes_and_one_longer_than_a_batch_are_converted(self):
        long = make_record(3, [(5, random_bytes(1, 300_000))])
        last = make_record((1 << 64) - 1, [(1, b"x")], time_ns=-5)
        records = [make_record(1, []), make_record(2, [(5, 12), (6, 1)]), long, last]
        write_run(self.folder, [("w", 0, records, [])])
        run = weir.Run(self.folder)
        for to in available():
            with self.subTest(to=to):
                convert.convert(run, to, self.out(to), jobs=1, memory=64 << 10)

    def test_damaged_fragments_are_converted_and_named(self):
        self.run_of(6)
        path = os.path.join(self.folder, "run-000007-w-1-0000.weir")
        file = weir.RunFile(path)
        line = file.index[file.index["id"] == 3][0]
        one = file.slice_at(int(line["offset"]), int(line["length"]))
        with open(path, "r+b") as damaged:
            damaged.seek(int(line["offset"]) + 32 + int(one.table["offset"][2]))
            damaged.write(b"\xde\xad")
        done = convert.convert(weir.Run(self.folder), "npz", self.out(), jobs=1)
        self.assertEqual(done["damaged_fragments"], [{"slice": "3", "source": 21}])

    def test_a_slice_whose_head_or_tables_are_damaged_stops_the_conversion(self):
        self.run_of(6)
        path = os.path.join(self.folder, "run-000007-w-1-0000.weir")
        line = weir.RunFile(path).index[1]
        with open(path, "r+b") as damaged:
            damaged.seek(int(line["offset"]) + 32 + 60)
            damaged.write(b"\x03")
        with self.assertRaisesRegex(weir.FormatError, "slice 3: the meta part's checksum"):
            convert.convert(weir.Run(self.folder), "npz", self.out(), jobs=2, part_bytes=8000)
        self.assertFalse(os.path.exists(self.out()))

    def test_an_existing_folder_and_an_empty_selection_are_refused(self):
        run = self.run_of(3)
        os.mkdir(self.out())
        with self.assertRaisesRegex(weir.ConvertError, "exists already"):
            convert.convert(run, "npz", self.out())
        with self.assertRaisesRegex(weir.ConvertError, "empty"):
            convert.convert(run.select(ids=(100, 200)), "npz", self.out("other"))

    def test_memory_stays_within_the_bound(self):
        # The peak of a conversion of 300 MB with 48 MiB, beyond that of a small one: programs and libraries.
        small, large = tempfile.mkdtemp(), tempfile.mkdtemp()
        for folder, slices in ((small, 2), (large, 1500)):
            self.addCleanup(shutil.rmtree, folder)
            records = [make_record(n, [(1, random_bytes(n % 7, 200_000))]) for n in range(slices)]
            write_run(folder, [("w", 0, records, [])])
        for to in available():
            with self.subTest(to=to):
                peaks = [self.peak(folder, to) for folder in (small, large)]
                self.assertLess(peaks[1] - peaks[0], 48 << 20)

    def peak(self, folder, to):
        """Returns the most anonymous memory that a conversion has, in bytes."""
        words = command("convert", folder, "--to", to, "--jobs", 1, "--memory", "48MiB", "--compression", "none")
        process = subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        most = 0
        while process.poll() is None:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                found = re.search(r"RssAnon:\s+(\d+)", file.read())
            most = max(most, 1024 * int(found[1]) if found else 0)
        self.assertEqual(process.returncode, 0, process.communicate()[1])
        process.stderr.close()
        return most

    def test_npz_by_slice(self):
        run = self.run_of(20)
        convert.convert(run, "npz", self.out(), jobs=1, part_bytes=20_000)
        seen = 0
        for name in sorted(os.listdir(self.out())):
            if name.endswith(".npz"):
                with np.load(os.path.join(self.out(), name)) as file:
                    for row in file["slices"]:
                        data = file["data"][int(row["data"]) : int(row["data"] + row["data_bytes"])]
                        self.assertEqual(data.tobytes(), run.slice(int(row["id"])).payload.tobytes())
                        seen += 1
                    self.assertEqual(str(file["record"]), self.farm().decode())
        self.assertEqual(seen, 20)


class KillTest(Folder):
    def test_a_killed_conversion_leaves_nothing_that_looks_whole(self):
        run = self.run_of(400, size=20_000)
        rest = random.Random(os.environ.get("WEIR_TEST_SEED", "1"))
        out = self.out("killed")
        usual = {}  # seconds of a conversion that is not killed, on this machine now
        published = under_way = 0
        for _ in range(KILLS):
            to = rest.choice(available())
            if to not in usual:
                began = time.monotonic()
                self.assertEqual(self.convert_until(to, out, None), 0)
                usual[to] = time.monotonic() - began
                self.check_whole(out)
            status = self.convert_until(to, out, rest.uniform(0.2, 1.1) * usual[to])
            visible = [name for name in os.listdir(self.folder) if not name.startswith(".")]
            if os.path.exists(out):
                visible.remove("killed")
                self.check_whole(out)
                published += 1
            else:
                self.assertEqual(status, -signal.SIGKILL)
            under_way += bool(self.unfinished())
            self.assertFalse([name for name in visible if "killed" in name])
        print(f"{KILLS} kills: {under_way} of conversions that were writing, {published} of finished ones")
        self.assertGreater(under_way + published, 0)
        convert.convert(run, "npz", out, jobs=1)
        self.assertEqual(self.unfinished(), [])

    def unfinished(self):
        return [name for name in os.listdir(self.folder) if "unfinished" in name]

    def convert_until(self, to, out, seconds):
        """Converts the run, and kills the conversion after this time. Returns its exit status."""
        process = subprocess.Popen(
            command("convert", self.folder, "--to", to, "--out", out, "--jobs", 2, "--part-bytes", "400K"),
            env=ENVIRONMENT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()  # ends when no worker is left that has stderr open
        return process.returncode

    def check_whole(self, out):
        """Checks the published set against the run, and deletes it."""
        with open(os.path.join(out, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        self.assertEqual((manifest["slices"], manifest["verified"]), (400, True))
        self.assertEqual(sum(part["slices"] for part in manifest["parts"]), 400)
        others = set(os.listdir(out)) - {part["file"] for part in manifest["parts"]} - {"manifest.json", "run.h5"}
        self.assertEqual(others, set())
        data = b""
        for part in manifest["parts"]:
            extent = formats.Extent(**{name: rows for name, rows in part.items() if name != "file"})
            path = os.path.join(out, part["file"])
            (batch,) = formats.load(manifest["format"]).read_part(path, [extent], formats.Options())
            data += batch.data.tobytes()
        self.assertEqual(data, batch_of(weir.Run(self.folder)).data.tobytes())
        shutil.rmtree(out)

    def test_a_folder_in_use_is_not_taken_for_abandoned(self):
        with StagedFolder(self.out()) as first:
            with StagedFolder(self.out()) as second:
                self.assertTrue(os.path.isdir(first.path))
                with open(os.path.join(second.path, "part"), "x", encoding="utf-8"):
                    pass
                second.commit()
            with self.assertRaisesRegex(weir.ConvertError, "cannot be published"):
                first.commit()


class CommandTest(Folder):
    def test_convert_and_skim_from_the_command_line(self):
        self.run_of(30)
        done = subprocess.run(command("convert", self.folder, "--to", "npz", "--ids", "5:9"), env=ENVIRONMENT,
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("5 slices in 1 part(s)", done.stdout)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "run-000007-npz", "manifest.json")))
        target = os.path.join(self.folder, "skimmed", "run-000007-skim-0000.weir")
        os.mkdir(os.path.dirname(target))
        done = subprocess.run(command("skim", self.folder, "--ids", ":3", "--source", "11,21", "--out", target),
                              env=ENVIRONMENT, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        whole, skimmed = weir.Run(self.folder), weir.Run(os.path.dirname(target))
        self.assertEqual(skimmed.ids.tolist(), [0, 1, 2, 3])
        self.assertEqual((skimmed.run_files[0].writer, skimmed.run_files[0].sequence), ("skim", 0))
        for one in skimmed:
            self.assertEqual(bytes(one.fragment(11).data), bytes(whole.slice(one.id).fragment(11).data))
            self.assertEqual([f.source for f in one.fragments if f.kept], [11, 21])
            self.assertEqual([f.source for f in one.fragments], [f.source for f in whole.slice(one.id).fragments])
        merged = os.path.join(self.folder, "skimmed", "run-000008-all-0000.weir")
        done = subprocess.run(command("merge", self.folder, "--out", merged), env=ENVIRONMENT, capture_output=True,
                              text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([one.record for one in weir.read_run_file(merged)], [one.record for one in whole])
        weir_command = os.path.join(os.environ.get("WEIR_BIN_DIR", ""), "weir")
        if os.path.exists(weir_command):
            filtered = os.path.join(self.folder, "skimmed", "run-000009-filtered-0000.weir")
            skim = ("skim", self.folder, "--filter", "prescale", "--ids", ":20", "--out", filtered)
            environment = {**ENVIRONMENT, "WEIR_COMMAND": weir_command}
            done = subprocess.run(command(*skim, "--set", "m=3"), env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("filter prescale: ", done.stderr)
            self.assertFalse(os.path.exists(filtered))
            done = subprocess.run(command(*skim, "--set", "n=3"), env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            third = [one.record for one in weir.read_run_file(filtered)]
            self.assertEqual(third, [whole.slice(number).record for number in range(0, 21, 3)])
            for path in (target, merged, filtered):
                done = subprocess.run([weir_command, "file", "verify", path], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_weir_file_runs_them_and_names_what_is_missing(self):
        weir_command = os.path.join(os.environ.get("WEIR_BIN_DIR", ""), "weir")
        if not os.path.exists(weir_command):
            self.skipTest("no executable weir")
        self.run_of(5)

        def weir_file(*arguments, python=sys.executable):
            environment = {**os.environ, "WEIR_PYTHON": python}
            environment.pop("PYTHONPATH", None)  # it finds the package by itself
            return subprocess.run([weir_command, "file", *arguments], env=environment, capture_output=True, text=True,
                                  timeout=100)

        done = weir_file("convert", self.folder, "--to", "npz", "--out", self.out())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.out(), "manifest.json")))
        self.assertIn("--part-bytes", weir_file("convert", "--help").stdout)
        self.assertEqual(weir_file("merge", self.folder, "--out", self.out("all.weir")).returncode, 0)
        done = weir_file("convert", self.folder, "--to", "npz", "--out", self.out())
        self.assertEqual(done.returncode, 1)
        self.assertIn("exists already", done.stderr)
        done = weir_file("convert", self.folder, "--to", "npz", python="/no/such/python")
        self.assertEqual(done.returncode, 1)
        self.assertIn("install python3", done.stderr)
        # An interpreter without the format's package.
        bare = os.path.join(self.folder, "bare")
        with open(bare, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec "{sys.executable}" -c \'import sys; sys.modules["h5py"] = None; '
                       'import runpy; sys.argv = ["weir_daq", *sys.argv[3:]]; '
                       'runpy.run_module("weir_daq", run_name="__main__")\' "$@"\n')
        os.chmod(bare, 0o755)
        done = weir_file("convert", self.folder, "--to", "hdf5", python=bare)
        self.assertEqual(done.returncode, 1)
        self.assertIn("python3 -m pip install h5py", done.stderr)

    def test_errors_are_sentences_with_status_1(self):
        done = subprocess.run(command("convert", self.out("nowhere"), "--to", "npz"), env=ENVIRONMENT,
                              capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, "Traceback" in done.stderr), (1, False))
        self.assertIn("nowhere", done.stderr)

    def test_output_that_cannot_be_written_is_a_sentence_with_status_1(self):
        for unbuffered in ("", "1"):
            with self.subTest(unbuffered=unbuffered), open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run(command("convert", "--help"), env={**ENVIRONMENT, "PYTHONUNBUFFERED": unbuffered},
                                      stdout=full, stderr=subprocess.PIPE, text=True, timeout=100)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, r"\Aweir-daq: .*No space left on device\n\Z")

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
