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
from weir_daq import convert, formats, parts
from weir_daq.batches import batch_of
from weir_daq.publish import StagedFolder, publish_file

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


def children(parent):
    """Returns the process ids of the workers of a conversion."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="latin-1") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == parent:
                    found.append(int(name))
        except OSError:  # ended meanwhile
            pass
    return found


def anonymous_bytes(process):
    try:
        with open(f"/proc/{process}/status", encoding="latin-1") as file:
            found = re.search(r"RssAnon:\s+(\d+)", file.read())
    except OSError:
        return 0
    return 1024 * int(found[1]) if found else 0


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

    def test_a_part_that_reads_back_differently_is_an_error(self):
        run = self.run_of(4)
        module = formats.load("npz")
        honest = module.read_part

        def dishonest(path, extents, options):
            for batch in honest(path, extents, options):
                batch.data[3] ^= 1
                yield batch

        module.read_part = dishonest
        self.addCleanup(setattr, module, "read_part", honest)
        work = parts.Work(self.folder, "npz", convert.info_of(run), formats.Options(), 1 << 20, True)
        with self.assertRaisesRegex(weir.ConvertError, "column 'data' reads back differently"):
            parts.write_part(lambda nbytes: None, work, run, 0)

    def test_a_run_without_slices_becomes_an_empty_part(self):
        write_run(self.folder, [("w", 0, [], [])])
        run = weir.Run(self.folder)
        for to in available():
            with self.subTest(to=to):
                done = convert.convert(run, to, self.out(to), options=formats.Options(hits=to == "parquet"))
                self.assertEqual([(part["slices"], part["data"]) for part in done["parts"]], [(0, 0)])
                path = os.path.join(self.out(to), done["parts"][0]["file"])
                self.assertGreater(os.path.getsize(path), 0)
        done = subprocess.run(command("convert", self.folder, "--to", "npz", "--decision", "filter"), env=ENVIRONMENT,
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_part_that_cannot_be_written_is_an_error_that_names_it(self):
        # A limit of a file's length stands for a full disk.
        self.run_of(200, size=6000)
        for to in available():
            for limit in (3_000, 150_000) if to == "npz" else (150_000, 400_000):
                with self.subTest(to=to, limit=limit):
                    done = subprocess.run(
                        command("convert", self.folder, "--to", to, "--out", self.out(), "--compression", "none"),
                        env=ENVIRONMENT, capture_output=True, text=True, timeout=100,
                        preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertRegex(done.stderr, r"\Aweir-daq: .*\n\Z")
                    self.assertIn(self.folder, done.stderr)
                    self.assertEqual([name for name in os.listdir(self.folder) if "out" in name], [])

    def test_no_file_lock_is_needed(self):
        self.run_of(3)
        lock = os.path.join(self.folder, "lock.c")
        with open(lock, "w", encoding="utf-8") as file:
            file.write("#include <errno.h>\nint flock() { errno = ENOLCK; return -1; }\n")
        library = lock + ".so"
        try:
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, lock], check=True, timeout=100)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("no C compiler")
        for to in {"hdf5", "npz"} & set(available()):
            done = subprocess.run(command("convert", self.folder, "--to", to, "--out", self.out(to)),
                                  env={**ENVIRONMENT, "LD_PRELOAD": library}, capture_output=True, text=True,
                                  timeout=100)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

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
        with self.assertRaisesRegex(weir.ConvertError, "selection is empty"):
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
        """Returns the most anonymous memory that a conversion and its worker have, in bytes."""
        words = command("convert", folder, "--to", to, "--jobs", 1, "--memory", "48MiB", "--compression", "none")
        process = subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        most = 0
        while process.poll() is None:
            most = max(most, sum(map(anonymous_bytes, [process.pid, *children(process.pid)])))
            time.sleep(0.002)
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

    def begin(self, *arguments):
        """Starts a conversion and returns it with its workers, once they write parts."""
        process = subprocess.Popen(command("convert", self.folder, "--to", "npz", "--out", self.out(), *arguments),
                                   env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        parts = os.path.join(self.folder, ".out.unfinished", "set")
        until = time.monotonic() + 60
        while not (os.path.isdir(parts) and os.listdir(parts)):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.002)
        return process, children(process.pid)

    def ended(self, process):
        """Waits for the end; returns status and message, and checks that nothing is left."""
        message = process.communicate(timeout=20)[1]
        self.assertEqual([name for name in os.listdir(self.folder) if "out" in name], [])
        return process.returncode, message

    def test_a_killed_worker_ends_the_conversion_with_a_sentence(self):
        self.run_of(4000, size=3000)
        for number in range(2):
            process, workers = self.begin("--jobs", 2, "--part-bytes", "100K")
            self.assertEqual(len(workers), 2)
            os.kill(workers[number], signal.SIGKILL)
            status, message = self.ended(process)
            self.assertEqual(status, 1)
            self.assertRegex(message, r"\Aweir-daq: a worker died \(signal 9\), perhaps for lack of memory: .*\n\Z")

    def test_an_interrupt_ends_the_conversion_at_once_with_a_sentence(self):
        self.run_of(4000, size=3000)
        process, workers = self.begin("--jobs", 2, "--part-bytes", "100K")
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)  # an end that waited for its workers would not come
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(self.ended(process), (130, "weir-daq: interrupted, nothing was published\n"))

    def test_of_two_conversions_at_once_one_is_published(self):
        self.run_of(400, size=3000)
        words = command("convert", self.folder, "--to", "npz", "--out", self.out("killed"), "--jobs", 1, "--part-bytes",
                        "400K")
        both = [subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                for _ in range(2)]
        said = [process.communicate(timeout=100)[1] for process in both]
        self.assertEqual(sorted(process.returncode for process in both), [0, 1], said)
        self.assertRegex("".join(said), "is writing it|exists already")
        self.check_whole(self.out("killed"))
        self.assertEqual(self.unfinished(), [])

    def test_a_folder_in_use_is_not_taken_for_abandoned(self):
        with StagedFolder(self.out()) as first:
            with self.assertRaisesRegex(weir.ConvertError, f"process {os.getpid()} on .* is writing it"):
                StagedFolder(self.out())
            with open(os.path.join(first.path, "part"), "x", encoding="utf-8"):
                pass
            first.commit()
        self.assertEqual(os.listdir(self.out()), ["part"])
        self.assertEqual(self.unfinished(), [])

    def test_only_a_folder_whose_owner_has_ended_on_this_host_is_taken_over(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        with StagedFolder(self.out()) as staged:
            owner = next(name for name in os.listdir(staged.scratch) if name.startswith("owner@"))
        words = owner.split("@")
        dead = [*words[:4], str(ended.pid), *words[5:]]
        self.leave("@".join(dead))
        self.leave("@".join([*words[:5], "1", *words[6:]]))  # a number that was given again
        for place in (1, 2, 3):  # another host, another boot, another name space of process ids
            other = [*dead[:place], dead[place] + "0", *dead[place + 1 :]]
            with self.assertRaisesRegex(weir.ConvertError, "if that process has ended, delete"):
                self.leave("@".join(other))
            self.assertTrue(os.path.exists(os.path.join(self.folder, ".out.unfinished", "set", "part-00000.npz")))
            shutil.rmtree(os.path.join(self.folder, ".out.unfinished"))

    def leave(self, owner):
        """Leaves the folder of a conversion with this owner, and begins another one."""
        folder = os.path.join(self.folder, ".out.unfinished")
        os.makedirs(os.path.join(folder, "set"))
        for name in (owner, "set/part-00000.npz"):
            with open(os.path.join(folder, name), "x", encoding="utf-8"):
                pass
        with StagedFolder(self.out()) as staged:
            self.assertEqual(os.listdir(staged.path), [])

    def test_a_file_gets_a_name_only_if_it_is_free(self):
        for links in (True, False):
            made, target = self.out("made"), self.out(f"target-{links}")
            real = os.link
            if not links:
                os.link = self.no_links
                self.addCleanup(setattr, os, "link", real)
            for content in ("first", "second"):
                with open(made, "w", encoding="utf-8") as file:
                    file.write(content)
                if content == "first":
                    publish_file(made, target)
                    self.assertFalse(os.path.exists(made))
                else:
                    self.assertRaises(FileExistsError, publish_file, made, target)
            with open(target, encoding="utf-8") as file:
                self.assertEqual(file.read(), "first")

    @staticmethod
    def no_links(*_):
        raise OSError(95, "Operation not supported")


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
