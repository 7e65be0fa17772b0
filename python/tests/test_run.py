import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings

from support import GOLDEN, ROOT, Folder, main, make_record, random_record, require, write_run

require("numpy", "crc32c")

import weir_daq as weir
from weir_daq.writer import RunFileWriter, slices_hash

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")}


def bytes_of(slices):
    """Work for another process: what one unit has."""
    return sum(len(one.payload) for one in slices)


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory()) if hasattr(self, "enterContext") else None
        if self.folder is None:
            folder = tempfile.TemporaryDirectory()
            self.addCleanup(folder.cleanup)
            self.folder = folder.name

    def two_writers(self):
        a = [random_record(n, streams=1 | (1 << 63 if n % 5 == 0 else 0)) for n in range(0, 40, 2)]
        b = [random_record(n, decision=n % 2, flags=1 if n % 3 == 0 else 0) for n in range(1, 40, 2)]
        return write_run(self.folder, [("w-0", 0, a[:12], []), ("w-0", 1, a[12:], []), ("w-1", 0, b, [])])

    def test_all_files_of_a_run_are_one_sequence_by_id(self):
        self.two_writers()
        run = weir.Run(self.folder)
        self.assertEqual(run.ids.tolist(), list(range(40)))
        self.assertEqual([one.id for one in run], list(range(40)))
        self.assertEqual((run.number, run.farm, run.record), (7, "test", "farm: test\n"))
        for one in run:
            self.assertEqual(bytes(one.record), random_record(
                one.id, streams=one.streams, decision=one.id % 2 if one.id % 2 else 0, flags=one.flags))

    def test_copies_that_do_not_count_are_left_out(self):
        old, new = make_record(1, [(1, b"old")], epoch=1), make_record(1, [(1, b"new")], epoch=2)
        dead, moved = make_record(2, [(1, b"dead")], epoch=9), make_record(2, [(1, b"moved")], epoch=8)
        first, again = make_record(3, [(1, b"first")]), make_record(3, [(1, b"again")])
        write_run(self.folder, [
            ("w-0", 0, [new, dead, first], []),
            ("w-0", 1, [again], [(2, 0, 9, 0)]),  # a later file of the writer lists the copy in its first one
            ("w-1", 0, [old, moved], []),
        ])
        found = {one.id: bytes(one.payload) for one in weir.Run(self.folder)}
        self.assertEqual(found, {1: b"new", 2: b"moved", 3: b"first"})

    def test_slices_are_selected_by_stream_id_time_and_decision(self):
        self.two_writers()
        run = weir.Run(self.folder)
        ids = lambda **wanted: run.select(**wanted).ids.tolist()  # noqa: E731
        self.assertEqual(ids(stream="debug"), [0, 10, 20, 30])
        self.assertEqual(len(run.select(stream="default")), 40)
        self.assertEqual(ids(ids=(3, 6)), [3, 4, 5, 6])
        self.assertEqual(ids(ids=(None, 1)), [0, 1])
        self.assertEqual(ids(ids=[5, 99, 7, -1]), [5, 7])
        self.assertEqual((ids(ids=(-5, 1)), ids(ids=(None, -1))), ([0, 1], []))
        start = 1_700_000_000_000_000_000
        self.assertEqual(ids(time_ns=(start + 10_000_000, start + 30_000_000)), [1, 2])
        self.assertEqual(ids(decision="prescale"), list(range(1, 40, 2)))
        self.assertEqual(ids(complete=False), [n for n in range(1, 40, 2) if n % 3 == 0])
        self.assertEqual(run.select(stream="debug").select(ids=(15, None)).ids.tolist(), [20, 30])
        with self.assertRaisesRegex(weir.WeirError, "muons"):
            run.select(stream="muons")
        with self.assertRaisesRegex(weir.WeirError, "perhaps"):
            run.select(decision="perhaps")

    def test_a_slice_is_found_by_its_id_and_an_unknown_one_is_an_error(self):
        self.two_writers()
        run = weir.Run(self.folder)
        self.assertEqual(run.slice(17).id, 17)
        with self.assertRaisesRegex(weir.NoSliceError, "no slice 40"):
            run.slice(40)

    def test_fragments_are_arrays_of_a_dtype_without_a_copy(self):
        write_run(self.folder, [("w", 0, [make_record(1, [(4, bytes(range(8))), (6, b"abc"), (9, 12)])], [])])
        one = weir.Run(self.folder)[0]
        self.assertEqual(one.array(4, "<u2").tolist(), [0x0100, 0x0302, 0x0504, 0x0706])
        self.assertFalse(one.array(4).flags.owndata)
        self.assertFalse(one.payload.flags.writeable)
        self.assertEqual(bytes(one.payload), bytes(range(8)) + b"abc")
        self.assertEqual(one.array(9).size, 0)
        self.assertEqual((one.fragment(9).status, one.fragment(9).reason), ("missing", "removed"))
        self.assertIsNone(one.fragment(5))
        with self.assertRaisesRegex(weir.FormatError, "multiple"):
            one.array(6, "<u2")

    def test_units_cover_every_slice_once_and_run_in_other_processes(self):
        self.two_writers()
        run = weir.Run(self.folder)
        units = run.units(3000)
        self.assertGreater(len(units), 3)
        self.assertEqual([int(n) for unit in units for n in unit.ids], list(range(40)))
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            self.assertEqual(sum(pool.map(bytes_of, units)), bytes_of(run))
        self.assertLess(len(pickle.dumps(units[0])), 3000 + 64 * len(units[0]))
        odd = pickle.loads(pickle.dumps(run.select(ids=[1, 3, 39])))
        self.assertEqual(([one.id for one in odd], len(odd.files)), ([1, 3, 39], 1))
        again = pickle.loads(pickle.dumps(run))
        self.assertEqual([one.id for one in again], list(range(40)))

    def test_a_file_that_was_not_closed_gives_its_whole_slices_and_a_warning(self):
        path = self.two_writers()[2]
        with open(path, "rb") as file:
            data = file.read()
        os.unlink(path)
        torn = path + ".part"
        with open(torn, "wb") as file:
            file.write(data[: len(data) // 2])
        with self.assertWarnsRegex(weir.RunWarning, "not closed"):
            run = weir.Run(self.folder)
        odd = [int(n) for n in run.ids if n % 2]
        self.assertEqual(odd, list(range(1, 2 * len(odd), 2)))
        self.assertTrue(5 < len(odd) < 20)
        for one in run:
            self.assertTrue(all(fragment.is_sound() for fragment in one.fragments))

    def test_a_damaged_index_costs_no_slice(self):
        path = self.two_writers()[2]
        index_at = weir.RunFile(path).footer[2]
        with open(path, "r+b") as file:
            file.seek(index_at + 60)
            file.write(b"\xff")
        with self.assertWarnsRegex(weir.RunWarning, "index is damaged"):
            self.assertEqual(weir.Run(self.folder).ids.tolist(), list(range(40)))

    def test_a_run_that_grows_is_seen_as_it_is_now(self):
        path = self.two_writers()[2]
        with open(path, "rb") as file:
            data = file.read()
        os.unlink(path)
        lengths = []
        for share in (0.4, 0.8):
            with open(path + ".part", "wb") as file:
                file.write(data[: int(len(data) * share)])
            with self.assertWarns(weir.RunWarning):
                before = weir.Run(self.folder)
            lengths.append(len(before))
        self.assertLess(lengths[0], lengths[1])
        # The writer closes the file: places that were found before stay good, here and in another process.
        pickled = pickle.dumps(before)
        with open(path + ".part", "wb") as file:
            file.write(data)
        os.rename(path + ".part", path)
        self.assertEqual([one.id for one in pickle.loads(pickled)], before.ids.tolist())
        self.assertEqual(len(weir.Run(self.folder)), 40)

    def test_one_file_is_a_run_too(self):
        paths = self.two_writers()
        run = weir.Run(paths[2])
        self.assertEqual(run.ids.tolist(), list(range(1, 40, 2)))
        self.assertEqual((run.number, run.summary), (7, {}))

    def test_a_folder_with_several_runs_or_none_says_which(self):
        write_run(self.folder, [("w", 0, [random_record(1)], [])], run=3)
        write_run(self.folder, [("w", 0, [random_record(2, run=5)], [])], run=5)
        with self.assertRaisesRegex(weir.NoRunError, "runs 3, 5: choose one with --run N"):
            weir.Run(self.folder)
        with tempfile.TemporaryDirectory() as empty, self.assertRaisesRegex(weir.NoRunError, "no run file"):
            weir.Run(empty)
        self.assertEqual(weir.Run(self.folder, 5).ids.tolist(), [2])
        with self.assertRaisesRegex(weir.NoRunError, "no run 4"):
            weir.Run(self.folder, 4)
        with self.assertRaisesRegex(weir.NoRunError, "nowhere"):
            weir.Run(os.path.join(self.folder, "nowhere"))


class WriterTest(unittest.TestCase):
    def test_its_files_pass_weir_file_verify_and_the_second_reader(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = write_run(folder, [("w", 0, [random_record(n) for n in (5, 1, 9)], [(1, 0, 1, 0)])])
            weir_command = os.path.join(os.environ.get("WEIR_BIN_DIR", ""), "weir")
            if os.path.exists(weir_command):
                done = subprocess.run([weir_command, "file", "verify", *paths], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            reader = os.path.join(ROOT, "libs/records/storage/tests/page_reader.py")
            done = subprocess.run([sys.executable, "-B", reader, *paths], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("slice 9 ", done.stdout)
            self.assertNotIn("damaged", done.stdout)
            self.assertEqual(weir.Run(folder).ids.tolist(), [5, 9])

    def test_the_committed_file_written_again_has_the_same_index_and_hash(self):
        source = weir.RunFile(GOLDEN)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "again.weir")
            with RunFileWriter(path, run=7, writer=source.writer, farm=source.farm, record=source.begin_of_run) as file:
                for one in weir.read_run_file(GOLDEN):
                    file.add(one)
                file.mark_dead(source.dead_copies)
            again = weir.RunFile(path)
            for name in ("id", "length", "streams", "time_ns", "epoch", "flags", "dead"):
                self.assertEqual(again.index[name].tolist(), source.index[name].tolist(), name)
            self.assertEqual(again.footer[6:8], source.footer[6:8])
            live = source.index[source.index["dead"] == 0]
            self.assertEqual(slices_hash(live["id"]), source.footer[7])

    def test_an_exception_leaves_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.weir")
            with self.assertRaises(ZeroDivisionError), RunFileWriter(path, run=1, writer="w", farm="", record=b""):
                raise ZeroDivisionError
            self.assertEqual(os.listdir(folder), [])

    def test_an_error_in_close_or_at_the_begin_leaves_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.weir")
            real = os.fsync
            self.addCleanup(setattr, os, "fsync", real)

            def full(descriptor):
                raise OSError(28, "No space left on device")

            os.fsync = full
            with self.assertRaisesRegex(OSError, "No space"):
                RunFileWriter(path, run=1, writer="w", farm="", record=b"").close()
            os.fsync = real
            with self.assertRaises(weir.FormatError):
                RunFileWriter(path, run=1, writer="w" * 2000, farm="", record=b"")
            self.assertEqual(os.listdir(folder), [])

    def test_of_two_writers_of_one_file_the_second_is_refused_and_nothing_is_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.weir")
            with self.assertRaises(FileExistsError), RunFileWriter(path, run=1, writer="w", farm="", record=b""):
                with self.assertRaisesRegex(FileExistsError, f"process {os.getpid()} on .* is writing it"):
                    RunFileWriter(path, run=2, writer="w", farm="", record=b"")
                with open(path, "w", encoding="utf-8") as file:  # it appears meanwhile
                    file.write("other")
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "other")
            self.assertEqual(os.listdir(folder), ["x.weir"])

    def test_what_a_killed_writer_leaves_is_taken_over(self):
        program = (
            "import os, signal, sys\n"
            "from weir_daq.writer import RunFileWriter\n"
            "RunFileWriter(sys.argv[1], run=1, writer='w', farm='', record=b'')\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.weir")
            killed = subprocess.run([sys.executable, "-c", program, path], env=ENVIRONMENT, check=False)
            self.assertEqual(killed.returncode, -9)
            self.assertEqual(os.listdir(folder), [".x.weir.unfinished"])
            RunFileWriter(path, run=2, writer="w", farm="", record=b"").close()
            self.assertEqual(os.listdir(folder), ["x.weir"])
            self.assertEqual(weir.RunFile(path).run, 2)

    def test_of_two_merges_at_once_one_makes_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            records = [random_record(n, size=3000) for n in range(300)]
            write_run(folder, [("w-0", 0, records[::2], []), ("w-1", 0, records[1::2], [])])
            target = os.path.join(folder, "merged", "all.weir")
            os.mkdir(os.path.dirname(target))
            words = [sys.executable, "-m", "weir_daq", "merge", folder, "--out", target]
            pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
            both = [subprocess.Popen(words, env=ENVIRONMENT, text=True, **pipes) for _ in range(2)]
            said = [process.communicate(timeout=100)[1] for process in both]
            self.assertEqual(sorted(process.returncode for process in both), [0, 1], said)
            self.assertRegex("".join(said), "is writing it|exists already|File exists")
            self.assertEqual([bytes(one.record) for one in weir.read_run_file(target)], records)
            self.assertEqual(os.listdir(os.path.dirname(target)), ["all.weir"])


class BeginOfRunTest(Folder):
    def test_a_damaged_record_is_named_and_another_files_is_taken(self):
        self.run_of(4)
        first = os.path.join(self.folder, "run-000007-w-0-0000.weir")
        begin = weir.RunFile(first).begin
        for place in (4, 32, 40, 200):  # in its head, its checksum, its content
            with self.subTest(place=place):
                with open(first, "r+b") as file:
                    file.seek(begin + place)
                    byte = file.read(1)
                    file.seek(begin + place)
                    file.write(bytes([byte[0] ^ 1]))
                with self.assertWarnsRegex(weir.RunWarning, "w-0-0000.weir: the begin-of-run record is damaged"):
                    self.assertEqual(weir.Run(self.folder).record.encode(), self.farm())
                with self.assertRaisesRegex(weir.FormatError, "weir file verify"):
                    _ = weir.RunFile(first).begin_of_run
                with open(first, "r+b") as file:
                    file.seek(begin + place)
                    file.write(byte)


if __name__ == "__main__":
    warnings.simplefilter("error", RuntimeWarning)
    main()
