"""Filters in Python: parameters, slices, decisions, and `weir filter try` and `new` with them."""

import gc
import os
import subprocess
import sys
import unittest

from support import ROOT, Folder, main, require

require("numpy")
import numpy as np

from weir_daq.filter_testing import make_setup, make_slice
from weir_daq.filters import ParameterError, accept, are_referred_to, need

BIN = os.environ.get("WEIR_BIN_DIR", os.path.join(ROOT, "build/release/bin"))


class NumbersTest(unittest.TestCase):
    """Numbers that ctypes would cut to their lowest bits."""

    def test_numbers_that_do_not_fit_are_refused_with_their_name(self):
        counter = make_setup().counter("n")
        slice = make_slice({1: b"abc"})
        for call, words in (
            (lambda: counter.add(-1), "amount -1"),
            (lambda: counter.add(2**64), "amount 18446744073709551616"),
            (lambda: counter.add(1.5), "amount 1.5 is not a whole number"),
            (lambda: need(-1), "source -1"),
            (lambda: need([2**32]), "source 4294967296"),
            (lambda: need(1, prefetch=[-2]), "source -2"),
            (lambda: accept(keep=[1.5]), "source 1.5 is not a whole number"),
            (lambda: accept(keep=[-1]), "source -1"),
            (lambda: accept(stream=-1), "stream -1"),
            (lambda: accept(prescaled=(0, 0)), "prescale 0"),
            (lambda: accept(prescaled=(1, -1)), "prescale counter -1"),
            (lambda: slice.alert("a", before_s=1e300), "before_s=1e+300"),
            (lambda: slice.alert("a", after_s=float("inf")), "after_s=inf"),
            (lambda: slice.alert("a", before_s=float("nan")), "before_s=nan"),
        ):
            with self.assertRaises((ValueError, TypeError)) as raised:
                call()
            self.assertIn(words, str(raised.exception))
        counter.add(np.uint32(3))
        counter.add(2**64 - 1)
        self.assertEqual(list(need(np.uint16(7)).sources), [7])


class ParametersTest(unittest.TestCase):
    def refusal(self, read, **parameters):
        with self.assertRaises(ParameterError) as raised:
            setup = make_setup(**parameters)
            read(setup)
            setup.refuse_unknown()
        return str(raised.exception)

    def test_values_have_the_type_of_their_default(self):
        setup = make_setup(a="5", b="-0.5e3", c="on", d="x y", e="0,2, 8-11", f="7")
        self.assertEqual(setup.parameter("a", 1), 5)
        self.assertEqual(setup.parameter("b", 1.0), -500.0)
        self.assertIs(setup.parameter("c", False), True)
        self.assertEqual(setup.parameter("d", ""), "x y")
        self.assertEqual(setup.sources("e"), [0, 2, 8, 9, 10, 11])
        self.assertEqual(setup.required("f", int), 7)
        self.assertEqual(setup.parameter("absent", 3), 3)
        self.assertEqual(setup.choice("absent too", ["first", "second"]), "first")
        setup.refuse_unknown()

    def test_refusals_are_those_of_a_plugin_in_cpp(self):
        self.assertEqual(
            self.refusal(lambda s: s.parameter("minimum", 1), minimum="abc"),
            "parameter 'minimum': 'abc' is not a whole number",
        )
        self.assertEqual(
            self.refusal(lambda s: s.parameter("m", 1, 1, 9), m="10"), "parameter 'm': '10' is not between 1 and 9"
        )
        self.assertEqual(self.refusal(lambda s: s.parameter("m", 1.0), m="1_0"), "parameter 'm': '1_0' is not a number")
        self.assertEqual(
            self.refusal(lambda s: s.parameter("m", True), m="maybe"), "parameter 'm': 'maybe' is not true or false"
        )
        self.assertEqual(self.refusal(lambda s: s.required("m", int)), "parameter 'm' is missing")
        self.assertEqual(
            self.refusal(lambda s: s.choice("m", ["a", "b"]), m="c"), "parameter 'm': 'c' is not one of: a, b"
        )
        self.assertEqual(
            self.refusal(lambda s: s.sources("m"), m="5-1"), "parameter 'm': '5-1' is not a range of sources"
        )
        self.assertEqual(
            self.refusal(lambda s: s.parameter("minimum", 1), minimun=5),
            "unknown parameter 'minimun': this filter knows minimum",
        )
        self.assertEqual(self.refusal(lambda s: None, x=5), "unknown parameter 'x': this filter takes none")


class SliceTest(unittest.TestCase):
    def test_fragments_are_read_only_views(self):
        one = make_slice({3: b"abcd", 5: None, 9: b""}, id=7, run=2, time_ns=11)
        self.assertEqual((one.id, one.run, one.time_ns, len(one), one.size, one.complete), (7, 2, 11, 3, 4, False))
        self.assertEqual([f.source for f in one], [3, 5, 9])
        self.assertEqual(one.fragment(3).array("<u2").tolist(), [0x6261, 0x6463])
        self.assertEqual(one.fragment(3).array("u1", offset=1, count=2).tobytes(), b"bc")
        self.assertTrue(one.fragment(5).missing)
        self.assertEqual(one.fragment(5).reason, "deadline")
        self.assertIsNone(one.fragment(4))
        self.assertEqual(len(one.array(9)), 0)
        self.assertEqual(one.table["length"].tolist(), [4, 0, 0])
        with self.assertRaises(ValueError):
            one.fragment(3).data[0] = 1
        with self.assertRaisesRegex(ValueError, "outside of 4 bytes"):
            one.fragment(3).array("<u4", offset=2, count=1)
        with self.assertRaisesRegex(ValueError, "not a multiple"):
            one.fragment(3).array("u1,u2")

    def test_a_view_that_is_kept_is_noticed(self):
        for keep in (lambda data: data, lambda data: data[1:], lambda data: data.view("<u2")[::2], memoryview):
            one = make_slice({3: b"abcd", 4: b"efgh"})
            one.fragment(4).data.sum()
            kept = keep(one.fragment(3).data)
            self.assertTrue(are_referred_to(one._end()))
            del kept
        for use in (lambda data: int(data.sum()), lambda data: data.copy(), lambda data: data.tobytes(), np.array):
            one = make_slice({3: b"abcd"})
            result = use(one.fragment(3).data)
            self.assertFalse(are_referred_to(one._end()))
            del result

    def test_a_cycle_lets_a_view_go_when_it_is_collected(self):
        one = make_slice({3: b"abcd"})
        cycle = [one.fragment(3).data]
        cycle.append(cycle)
        del cycle
        views = one._end()
        self.assertTrue(are_referred_to(views))
        gc.collect()
        self.assertFalse(are_referred_to(views))

    def test_an_ended_slice_gives_nothing(self):
        one = make_slice({3: b"abcd"})
        fragment = one.fragment(3)
        one._end()
        with self.assertRaisesRegex(ValueError, "ended with process"):
            _ = fragment.data
        with self.assertRaisesRegex(ValueError, "ended with process"):
            _ = one.remembered

    def test_hits_of_all_fragments_are_one_array(self):
        hits = make_slice({3: b"\1\5\0\0\0\6", 4: None, 5: b"\2\7\0\0\0\3" * 2}).hits()
        self.assertEqual(hits.tolist(), [(3, 1, 5, 6), (5, 2, 7, 3), (5, 2, 7, 3)])

    def test_decisions_check_their_words(self):
        self.assertEqual(list(need(1, [2, 3], np.array([4])).sources), [1, 2, 3, 4])
        self.assertEqual(list(accept(keep=[3]).sources), [3])
        with self.assertRaisesRegex(ValueError, "'some' is not"):
            accept(keep="some")


RANDOM = '''
from weir_daq.filters import accept, reject

class Filter:
    def __init__(self, setup):
        self.n = setup.parameter("n", 10)
        setup.choice("how", ["every", "random"])
        self.accepted = 0

    def process(self, slice):
        if slice.random() % self.n:
            return reject()
        self.accepted += 1
        return accept(prescaled=(self.n, self.accepted))
'''
STEPS = '''
import numpy as np
from weir_daq.filters import accept, need, reject

class Filter:
    first_sources = [1]

    def __init__(self, setup):
        self.sizes = setup.book_histogram("sizes", 10, 0, 2000)
        self.map = setup.book_histogram_2d("map", (4, 0, 4), (2, 0, 2))

    def process(self, slice):
        self.map.fill(slice.step, 0.5)
        if slice.step == 0:
            assert [f.requested for f in slice] == [f.source == 1 for f in slice]
            slice.remember({"size": slice.size})
            return need(11, 21)
        assert slice.remembered["size"] == len(slice.fragment(1))
        self.sizes.fill(np.array([len(f) for f in slice if f.requested]))
        return accept(result=b"ok", events=[(slice.id, b"abc")])
'''
MANY = '''
from weir_daq.filters import accept, reject

class Filter:
    def __init__(self, setup):
        self.seen = setup.book_histogram("seen", 4, 0, 4)

    def process_many(self, slices):
        return [accept() if one.id % 2 else reject() for one in slices]
'''
SIZED = '''
from weir_daq.filters import accept, need, reject

class Filter:
    first_sources = [1]

    def process_many(self, slices):
        assert len(slices) <= 16
        return [self.decide(one, len(slices)) for one in slices]

    def decide(self, one, size):
        if one.step == 0:
            one.remember(size)
            return need(11)
        return accept() if one.remembered > 1 else reject()
'''


@unittest.skipUnless(os.path.exists(os.path.join(BIN, "../lib/weir/weir-filter-host.so")), "weir is not built")
class TryTest(Folder):
    def weir(self, *words, status=0):
        environment = {**os.environ, "WEIR_PYTHON": sys.executable, "PATH": f"{BIN}:{os.environ['PATH']}"}
        done = subprocess.run(["weir", *words], cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def test_random_numbers_are_those_of_cpp(self):
        self.run_of()
        self.write("mine.py", RANDOM)
        settings = ("--set", "n=3", "--set", "how=random")
        out = self.weir("filter", "try", "./mine.py", ".", "--against", "prescale", *settings)
        self.assertIn("agree on every slice", out)

    def test_steps_histograms_and_output(self):
        self.run_of()
        self.write("steps.py", STEPS)
        out = self.weir("filter", "try", "steps.py", ".", "--repeat", "2")
        self.assertRegex(out, r"accepted +60 100\.0 %")
        self.assertRegex(out, r"sizes: 180 entries, mean 1200")
        self.assertIn("map", out)

    def test_a_batch_filter_is_tried_in_batches(self):
        self.run_of()
        self.write("many.py", MANY)
        self.assertRegex(self.weir("filter", "try", "many.py", "."), r"accepted +30 +50\.0 %")
        self.write("sized.py", SIZED)
        out = self.weir("filter", "try", "sized.py", ".", "--list")
        self.assertRegex(out, r"accepted +60 +100\.0 %")
        self.assertRegex(self.weir("filter", "try", "many.py", ".", "--against", "sized.py", status=1), "disagree")

    def test_errors_and_crashes_name_the_line(self):
        self.run_of()
        self.write("bad.py", "class Filter:\n  def process(self, slice):\n    return 1 / (slice.id % 2)\n")
        out = self.weir("filter", "try", "bad.py", ".", status=1)
        self.assertIn("ZeroDivisionError: division by zero (bad.py:3)", out)
        self.assertIn("returned 1.0: return accept()", out)
        self.write("worse.py", "import os\nclass Filter:\n  def process(self, slice):\n    os.abort()\n")
        self.assertIn("worse.py\", line 4 in process", self.weir("filter", "try", "worse.py", ".", status=-6))
        self.write("none.py", "x = 1\n")
        self.assertIn("has no class Filter", self.weir("filter", "try", "none.py", ".", status=2))
        out = self.weir("filter", "try", "bad.py", ".", "--set", "n=1", status=2)
        self.assertIn("unknown parameter 'n': this filter takes none", out)

    def test_a_filter_that_ends_python_is_named_wherever_it_does(self):
        self.run_of()

        def tried(name, method, how, status):
            body = {one: "pass" for one in ("__init__(self, setup)", "begin_run(self, run)", "end_run(self)",
                                            "__del__(self)")}  # fmt: skip
            lines = ["import atexit, os, sys", "from weir_daq.filters import accept", "class Filter:"]
            if method == "atexit":
                lines.insert(1, f"atexit.register(lambda: {how})")
            else:
                body[method] = how
            lines += [f"  def {one}: {what}" for one, what in body.items()]
            lines += ["  def process(self, slice): return accept()"]
            self.write(name, "\n".join(lines) + "\n")
            return self.weir("filter", "try", name, ".", status=status)

        for method, line in (("__init__(self, setup)", 4), ("begin_run(self, run)", 5), ("end_run(self)", 6),
                             ("__del__(self)", 7), ("atexit", 2)):  # fmt: skip
            out = tried("leaves.py", method, "os._exit(0)", 1)
            self.assertIn(f"weir filter try: the filter calls os._exit() (leaves.py:{line})", out)
        out = tried("stops.py", "end_run(self)", "sys.exit()", 1)
        self.assertIn("the filter could not end the run: SystemExit (stops.py:6)", out)
        out = tried("stops.py", "__del__(self)", "sys.exit()", 1)
        self.assertIn("the filter calls sys.exit() in Filter.__del__, which Python ignores", out)
        out = tried("stops.py", "atexit", "sys.exit()", 1)
        self.assertRegex(out, "the filter calls sys.exit\\(\\) in .*lambda.*, which Python ignores")

    def test_a_new_project_passes_its_own_tests(self):
        self.assertIn("python3 -m unittest", self.weir("filter", "new", "big-slices", "--python"))
        environment = {
            **os.environ,
            "WEIR_PYTHON": sys.executable,
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "PYTHONPATH": os.path.join(ROOT, "python"),
        }
        done = subprocess.run([sys.executable, "-m", "unittest", "-v"], cwd=os.path.join(self.folder, "big-slices"),
                              env=environment, capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Ran 2 tests", done.stderr)
        self.assertNotIn("skipped", done.stderr)


if __name__ == "__main__":
    main()
