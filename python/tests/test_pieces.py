import pathlib
import struct
import unittest

from support import main, require

require("numpy", "crc32c")

import weir_daq as weir

GOLDEN = pathlib.Path(__file__).parents[2] / "libs/readout/source/tests/golden/window.bin"


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
        def window(duration, before, after, *pieces):
            header = struct.pack("<4sIqqqq", b"WPC1", len(pieces), 1000, duration, before, after)
            table = b"".join(struct.pack("<qqIBBH", offset, 0, 6 * len(times), 0, 0, 0) for offset, times in pieces)
            hits = [struct.pack("<BIB", 7, time, 20) for _, times in pieces for time in times]
            return header + table + b"".join(hits)

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


if __name__ == "__main__":
    main()
