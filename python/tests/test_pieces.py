import pathlib
import struct
import unittest

from support import Folder, main, make_record, require, write_run

require("numpy", "crc32c")

import weir_daq as weir
from weir_daq import batches, convert, formats

GOLDEN = pathlib.Path(__file__).parents[2] / "libs/readout/source/tests/golden/window.bin"


def window(duration, before, after, *pieces):
    """Returns a window at 1,000 ns. pieces: offset, and the times of its hits of channel 7."""
    header = struct.pack("<4sIqqqq", b"WPC1", len(pieces), 1000, duration, before, after)
    table = b"".join(struct.pack("<qqIBBH", offset, 0, 6 * len(times), 0, 0, 0) for offset, times in pieces)
    hits = [struct.pack("<BIB", 7, time, 20) for _, times in pieces for time in times]
    return header + table + b"".join(hits)


class PiecesTest(unittest.TestCase):
    def test_the_golden_window_is_read(self):
        pieces = weir.decode_pieces(GOLDEN.read_bytes())
        self.assertEqual((pieces.time_ns, pieces.duration_ns, pieces.before_ns, pieces.after_ns), (1000, 100, 10, 10))
        self.assertEqual(pieces.table["offset_ns"].tolist(), [-5, 50, 95])
        self.assertEqual(pieces.table["duration_ns"].tolist(), [0, 3, 0])
        self.assertEqual(pieces.table["status"].tolist(), [0, 2, 0])
        self.assertEqual((pieces.table["flags"] & weir.pieces.BORDER).tolist(), [1, 0, 1])
        self.assertEqual(pieces.begin_here.tolist(), [False, True, True])
        self.assertEqual([bytes(pieces[i]) for i in range(len(pieces))], [b"ab", b"", b"cde"])
        self.assertEqual(bytes(pieces[-1]), b"cde")
        with self.assertRaises(IndexError):
            pieces[3]

    def test_hits_of_a_window_are_those_of_its_time_slice(self):
        def times_of(data):
            hits = weir.decode_hits(data)
            self.assertTrue((hits["channel"] == 7).all() and (hits["tot_ns"] == 20).all())
            return hits["time_ns"].tolist()

        one_piece = window(100, 10, 10, (-10, [0, 9, 10, 50, 109, 110, 119]))
        self.assertEqual(times_of(one_piece), [10, 50, 109])
        self.assertEqual(times_of(window(100, 10, 10, (-5, [0, 4, 5]), (50, [0]), (99, [0, 1]))), [10, 60, 109])
        self.assertEqual(times_of(window(0, 10, 20, (-12, [1, 2, 11]), (19, [0, 1]))), [0, 9, 29])
        self.assertEqual(times_of(window(100, 10, 10)), [])
        with self.assertRaisesRegex(weir.FormatError, "4.2 s"):
            weir.decode_hits(window(5_000_000_000, 0, 0, (4_900_000_000, [0])))

    def test_damaged_windows_are_refused(self):
        golden = GOLDEN.read_bytes()
        for length in range(len(golden)):
            with self.assertRaises(weir.FormatError):
                weir.decode_pieces(golden[:length])
        for damaged in (golden + b"x", b"X" + golden[1:], golden[:4] + b"\xff" * 4 + golden[8:],
                        golden[:40] + b"\xff" * 7 + b"\x7f" + golden[48:]):
            with self.assertRaises(weir.FormatError):
                weir.decode_pieces(damaged)


class ConvertTest(Folder):
    # A hit in the overlap of two slices, at 1,098 ns; plain hits and an empty window beside it.
    ONE = window(100, 10, 10, (-10, [0, 20, 108, 115]))
    TWO = window(100, 10, 10, (-10, [8, 60]), (95, [0, 14]))

    def run_of(self, *fragments):
        write_run(self.folder, [("w", 0, [make_record(n, one) for n, one in enumerate(fragments)], [])])
        return weir.Run(self.folder)

    def test_hits_of_windows_become_columns_once_each(self):
        try:
            import pyarrow.dataset
        except ImportError:
            self.skipTest("no pyarrow")
        plain = struct.pack("<BIB", 3, 44, 5)
        run = self.run_of([(1, self.ONE), (2, window(100, 10, 10)), (3, 12)], [(1, self.TWO), (2, plain)])
        convert.convert(run, "parquet", self.out(), options=formats.Options(hits=True), jobs=1)
        rows = pyarrow.dataset.dataset(self.out(), exclude_invalid_files=True).to_table().to_pylist()
        times = [[[hit["time_ns"] for hit in one["hits"]] for one in row["fragments"]] for row in rows]
        self.assertEqual(times, [[[20, 108], [], []], [[60, 105], [44]]])
        self.assertEqual(rows[1]["fragments"][0]["total"], len(self.TWO))

    def test_windows_without_plain_hits_are_refused(self):
        for number, content in enumerate((self.ONE[:-1], b"\x87" + bytes(5))):
            header = struct.pack("<4sIqqqq", b"WPC1", 1, 1000, 100, 10, 10)
            bad = header + struct.pack("<qqIBBH", 0, 0, len(content), 0, 0, 0) + content
            with self.subTest(number), self.assertRaisesRegex(weir.ConvertError, "without --hits"):
                batches.with_hits(batches.batch_of([weir.parse_slice(make_record(1, [(1, bad)]))]))

    def test_other_slices_stay_as_they_are(self):
        batch = batches.batch_of([weir.parse_slice(make_record(1, [(1, bytes(12)), (2, b"")]))])
        self.assertIs(batches.with_hits(batch), batch)


if __name__ == "__main__":
    main()
