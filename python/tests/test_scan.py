"""The engine of scans, on a farm that is made up."""

import json
import os
import shutil
import tempfile
import types
import unittest

import support

from weir_daq import scan
from weir_daq.errors import ControlError
from weir_daq.farm import RunResult


class MadeUpFarm:
    """Ends each run at once; fails as `faults` says: by the value of `key`, a list of one fault an attempt."""

    def __init__(self, faults=None):
        self.state, self.run, self.runs, self.log, self.faults = "idle", 0, [], [], faults or {}
        self.values = {}

    def status(self):
        return types.SimpleNamespace(state=self.state, run=self.run, runs=self.runs)

    def _fault(self, kind):
        faults = self.faults.get(self.values.get("key"), [])
        if faults and faults[0] == kind:
            faults.pop(0)
            return True
        return False

    def configure(self, values):
        self.values = dict(values)
        self.log.append(("configure", *values.values()))
        if self._fault("configure"):
            raise ControlError("configure is refused")
        self.state = "ready"

    def start(self, **_):
        self.run += 1
        self.state = "running"
        return self.run

    def wait(self):
        if self._fault("interrupt"):
            raise KeyboardInterrupt
        self.state = "ready"
        if self._fault("error"):
            self.state = "error"
            raise ControlError("the supervisor died")
        result = RunResult(self.run, 1.0, 10, 5, 5, 0, not self._fault("unbalanced"), False, "all triggers made")
        self.runs.insert(0, result)
        return result

    def stop(self, reason):
        self.log.append(("stop", reason))
        self.state = "ready"

    def reset(self):
        self.log.append(("reset",))
        self.state = "idle"


class ScanTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def test_a_plan_has_every_combination_and_repetition_in_order(self):
        values = '"values": {"a": {"from": 0.1, "to": 0.3, "step": 0.1}, "b": ["x"]}'
        text = "{" + values + ', "runs": 2, "slices": 5, "fields": {"type": "scan"}}'
        plan = scan.read_plan(self.path("scan.json", text))
        self.assertEqual([point.name for point in plan.points][:3], ["a=0.1 b=x", "a=0.1 b=x (run 2)", "a=0.2 b=x"])
        self.assertEqual([point.values["a"] for point in plan.points][::2], [0.1, 0.2, 0.3])
        self.assertEqual((plan.slices, plan.fields, plan.retries), (5, {"type": "scan"}, 0))

    def test_a_plan_that_is_wrong_is_refused_with_its_key(self):
        for text, why in {
            "[]": "no `values`",
            "{": "Expecting",
            '{"values": {"a": [1]}}': "slices or duration_s",
            '{"values": {}, "slices": 5}': "needs values",
            '{"values": {"a": 3}, "slices": 5}': "values.a: give a list",
            '{"values": {"a": {"from": 1, "to": 0, "step": 1}}, "slices": 5}': "does not lead from 1 to 0",
            '{"values": {"a": {"from": 1, "to": 2, "step": 0}}, "slices": 5}': "does not lead",
            '{"values": {"a": [1]}, "slices": 0}': "slices is not a number",
            '{"values": {"a": [1]}, "duration_s": -1}': "duration_s is not a time",
            '{"values": {"a": [1]}, "slice": 5}': "unknown key slice",
        }.items():
            with self.assertRaisesRegex(ValueError, why):
                scan.read_plan(self.path("scan.json", text))

    def test_failed_runs_are_recorded_and_the_scan_continues(self):
        farm = MadeUpFarm({2: ["configure"], 3: ["error"], 4: ["unbalanced"]})
        reports = []
        plan = scan.plan({"key": [1, 2, 3, 4, 5]}, slices=10)
        done = scan.carry_out(farm, plan, scan.Results(), lambda one, left, seconds: reports.append((one.run, left)))
        self.assertEqual([bool(one.failure) for one in done], [False, True, True, True, False])
        self.assertIn("configure is refused", done[1].failure)
        self.assertIn(("reset",), farm.log)
        self.assertEqual([left for _, left in reports], [4, 3, 2, 1, 0])

    def test_a_run_that_fails_is_taken_again_as_often_as_wanted(self):
        farm, plan = MadeUpFarm({2: ["error", "configure"]}), scan.plan({"key": [1, 2]}, slices=1, retries=2)
        done = scan.carry_out(farm, plan, scan.Results())
        self.assertEqual([one.failure for one in done], ["", ""])
        with self.assertRaisesRegex(ControlError, "key=2: the supervisor died"):
            plan = scan.plan({"key": [1, 2, 3]}, slices=1)
            scan.carry_out(MadeUpFarm({2: ["error"]}), plan, scan.Results(), on_failure="raise")

    def test_a_scan_resumes_with_the_points_that_have_no_good_result(self):
        path = self.path("results.jsonl")
        plan = scan.plan({"key": [1, 2, 3, 4]}, slices=10)
        farm = MadeUpFarm({2: ["unbalanced"], 3: ["interrupt"]})
        with self.assertRaises(KeyboardInterrupt):
            scan.carry_out(farm, plan, scan.Results(path))
        self.assertEqual(farm.log[-1], ("stop", "scan interrupted"))
        with open(path, "a", encoding="utf-8") as file:
            file.write('{"values": {"key": 4}, "repet')  # cut
        farm.log.clear()
        done = scan.carry_out(farm, plan, scan.Results(path))
        self.assertEqual(farm.log, [("configure", 2), ("configure", 3), ("configure", 4)])
        self.assertEqual([one.failure for one in done], [""] * 4)
        farm.log.clear()
        self.assertEqual(len(scan.carry_out(farm, plan, scan.Results(path))), 4)
        self.assertEqual(farm.log, [])

    def test_a_run_of_a_killed_scan_is_waited_for_and_a_strange_one_is_not_touched(self):
        path = self.path("results.jsonl")
        plan = scan.plan({"key": [1, 2]}, slices=10)
        farm = MadeUpFarm()
        farm.values, farm.state, farm.run = {"key": 1}, "running", 7
        scan.Results(path).begin(plan.points[0], 7)
        done = scan.carry_out(farm, plan, scan.Results(path))
        self.assertEqual([one.run for one in done], [7, 8])
        self.assertEqual(farm.log, [("configure", 2)])
        ended = self.path("ended.jsonl")  # the run of a killed scan has ended meanwhile
        scan.Results(ended).begin(plan.points[0], 7)
        self.assertEqual(scan.carry_out(farm, plan, scan.Results(ended))[0].run, 7)
        farm.state, farm.run = "running", 20
        with self.assertRaisesRegex(ControlError, "run 20 is on: stop it before the scan"):
            scan.carry_out(farm, plan, scan.Results())
        self.assertEqual(farm.state, "running")

    def test_the_remaining_time_is_that_of_the_runs_so_far(self):
        self.assertIsNone(scan.remaining_s([], 3))
        point = scan.Point({"key": 1})
        taken = [scan.Done(point, 1, "", {}, 2.0), scan.Done(point, 2, "", {}, 4.0)]
        self.assertEqual(scan.remaining_s(taken, 5), 15.0)

    def test_results_are_lines_of_json(self):
        path = self.path("results.jsonl")
        scan.carry_out(MadeUpFarm(), scan.plan({"key": ["x"]}, slices=1), scan.Results(path))
        with open(path, encoding="utf-8") as file:
            begin, end = (json.loads(line) for line in file)
        self.assertEqual((begin["begins"], begin["run"]), (True, 1))
        self.assertEqual((end["values"], end["failure"], end["result"]["stored"]), ({"key": "x"}, "", 5))


if __name__ == "__main__":
    support.main()
