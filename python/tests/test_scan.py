"""The engine of scans, on a farm that is made up."""

import json
import os
import shutil
import tempfile
import types
import unittest

import support

from weir_daq import scan
from weir_daq.errors import ControlError, NoAnswerError
from weir_daq.farm import RunResult


class MadeUpFarm:
    """Ends each run at once; fails as `faults` says: by the value of `key`, a list of one fault an attempt."""

    def __init__(self, faults=None):
        self.state, self.run, self.runs, self.log, self.faults = "idle", 0, [], [], faults or {}
        self.values, self.fields, self.stored, self.away = {}, {}, 0, 0

    def status(self):
        if self.away > 0:
            self.away -= 1
            raise NoAnswerError("run control does not answer")
        return types.SimpleNamespace(
            state=self.state, run=self.run, runs=self.runs, fields=self.fields, counts={"stored": self.stored}
        )

    def _fault(self, kind):
        faults = self.faults.get(self.values.get("a.key"), [])
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

    def start(self, fields, **_):
        self.run += 1
        self.state, self.fields, self.stored = "running", dict(fields), 0
        if self._fault("no answer"):
            self.away = 3
            raise NoAnswerError("run control does not answer")
        return self.run

    def wait(self, each=lambda _: None):
        for _ in range(5):
            self.stored += 10
            each(self.status())
        if self._fault("interrupt"):
            raise KeyboardInterrupt
        self.state = "ready"
        if self._fault("error"):
            self.state = "error"
            raise ControlError("the supervisor died")
        result = RunResult(self.run, 1.0, 10, 5, 5, 0, not self._fault("unbalanced"), False, "all triggers made")
        self.runs.insert(0, result)
        return result

    def tell_sequence(self, **progress):
        self.log.append(("told", progress["id"], progress["over"]))

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
            '{"values": {"a": [1]}}': "slices, stored or duration_s",
            '{"values": {}, "slices": 5}': "needs values",
            '{"values": {"a": 3}, "slices": 5}': "values.a: give a list",
            '{"values": {"a": {"from": 1, "to": 0, "step": 1}}, "slices": 5}': "does not lead from 1 to 0",
            '{"values": {"a": {"from": 1, "to": 2, "step": 0}}, "slices": 5}': "does not lead",
            '{"values": {"a": [1]}, "slices": 0}': "slices is not a number",
            '{"values": {"a": [1]}, "duration_s": -1}': "duration_s is not a time",
            '{"values": {"a": [1]}, "slice": 5}': "unknown key slice",
            '{"values": {"a": [1]}, "stored": true}': "stored is not a number",
            '{"values": {"a": [1]}, "slices": 5, "on_failure": "ask"}': "on_failure is continue or stop",
            '{"values": {"a": [1]}, "slices": 5, "prepare": {}}': "prepare: give a command",
            '{"values": {"a": [1]}, "slices": 5, "wait_for": {"run": "x", "every": 1}}': "wait_for.every: use run",
            '{"values": {"a": [1]}, "slices": 5, "wait_for": {"run": "x", "every_s": 0}}': "wait_for.every_s: from 0.1",
        }.items():
            with self.assertRaisesRegex(ValueError, why):
                scan.read_plan(self.path("scan.json", text))

    def test_failed_runs_are_recorded_and_the_scan_continues(self):
        farm = MadeUpFarm({2: ["configure"], 3: ["error"], 4: ["unbalanced"]})
        reports = []
        plan = scan.plan({"a.key": [1, 2, 3, 4, 5]}, slices=10)
        done = scan.carry_out(farm, plan, scan.Results(), lambda one, left, seconds: reports.append((one.run, left)))
        self.assertEqual([bool(one.failure) for one in done], [False, True, True, True, False])
        self.assertIn("configure is refused", done[1].failure)
        self.assertIn(("reset",), farm.log)
        self.assertEqual([left for _, left in reports], [4, 3, 2, 1, 0])

    def test_a_run_that_fails_is_taken_again_as_often_as_wanted(self):
        farm, plan = MadeUpFarm({2: ["error", "configure"]}), scan.plan({"a.key": [1, 2]}, slices=1, retries=2)
        done = scan.carry_out(farm, plan, scan.Results())
        self.assertEqual([one.failure for one in done], ["", ""])
        with self.assertRaisesRegex(ControlError, "a.key=2: the supervisor died"):
            plan = scan.plan({"a.key": [1, 2, 3]}, slices=1, on_failure="stop")
            scan.carry_out(MadeUpFarm({2: ["error"]}), plan, scan.Results())

    def test_a_scan_resumes_with_the_points_that_have_no_good_result(self):
        path = self.path("results.jsonl")
        plan = scan.plan({"a.key": [1, 2, 3, 4]}, slices=10)
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
        plan = scan.plan({"a.key": [1, 2]}, slices=10)
        farm = MadeUpFarm()
        farm.values, farm.state, farm.run = {"a.key": 1}, "running", 7
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

    def test_a_value_without_a_dot_is_a_field_and_reaches_commands(self):
        path = self.path("said")
        command = scan.Command(f'echo "$WEIR_VALUE_HV $WEIR_VALUE_A_KEY $WEIR_POINT" >> {path}')
        farm = MadeUpFarm()
        plan = scan.plan({"hv": [1200], "a.key": [1]}, slices=1, fields={"type": "scan"}, prepare=command)
        scan.carry_out(farm, plan, scan.Results())
        self.assertEqual(farm.values, {"a.key": 1})
        self.assertEqual(farm.fields, {"type": "scan", "hv": "1200", "scan": "scan: hv=1200 a.key=1"})
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "1200 1 hv=1200 a.key=1\n")

    def test_a_command_that_fails_or_hangs_fails_its_point_alone(self):
        prepare = scan.Command('case $WEIR_VALUE_HV in 2) echo tripped; exit 1;; 3) sleep 100;; esac', limit_s=0.3)
        plan = scan.plan({"hv": [1, 2, 3, 4]}, slices=1, prepare=prepare)
        done = scan.carry_out(MadeUpFarm(), plan, scan.Results())
        said = [one.failure for one in done]
        self.assertEqual(said, ["", "prepare: tripped", "prepare: took longer than 0.3 s", ""])
        self.assertEqual([one.run for one in done], [1, 0, 0, 2])

    def test_a_run_waits_until_its_condition_holds(self):
        flag = self.path("flag")
        wait_for = scan.Command(f"test -e {flag} || {{ touch {flag}; echo warm; exit 1; }}", limit_s=5, every_s=0.1)
        plan = scan.plan({"hv": [1]}, slices=1, wait_for=wait_for)
        self.assertEqual(scan.carry_out(MadeUpFarm(), plan, scan.Results())[0].failure, "")
        never = scan.plan({"hv": [1]}, slices=1, wait_for=scan.Command("echo warm; false", limit_s=0.3, every_s=0.1))
        failure = scan.carry_out(MadeUpFarm(), never, scan.Results())[0].failure
        self.assertEqual(failure, "wait_for does not hold after 0.3 s: warm")

    def test_a_run_ends_at_its_number_of_stored_slices(self):
        farm = MadeUpFarm()
        scan.carry_out(farm, scan.plan({"a.key": [1]}, stored=30), scan.Results())
        self.assertEqual(farm.log[1:], [("stop", "30 slices stored")])

    def test_a_start_without_an_answer_is_found_again(self):
        farm = MadeUpFarm({2: ["no answer"]})
        done = scan.carry_out(farm, scan.plan({"a.key": [1, 2, 3]}, slices=1), scan.Results())
        self.assertEqual([(one.run, one.failure) for one in done], [(1, ""), (2, ""), (3, "")])

    def test_the_progress_is_told_until_the_scan_is_over(self):
        told = []
        farm = MadeUpFarm({2: ["error"]})
        scan.carry_out(farm, scan.plan({"a.key": [1, 2, 3]}, duration_s=100), scan.Results(), tell=told.append)
        self.assertEqual([(one.good, one.failed, one.over) for one in told][-2:], [(1, 1, False), (2, 1, True)])
        self.assertAlmostEqual(told[0].left_s, 300, delta=5)
        farm.log.clear()
        scan.carry_out(farm, scan.plan({"a.key": [1]}, slices=1), scan.Results(), tell=scan.progress_of(farm))
        messages = [one for one in farm.log if one[0] == "told"]
        self.assertEqual([over for *_, over in messages], [False, False, True])
        self.assertEqual(len({identity for _, identity, _ in messages}), 1)

    def test_a_scan_does_not_begin_beside_another(self):
        farm = MadeUpFarm()

        def refuse(**_):
            raise ControlError("other.yaml by ann is in progress")

        farm.tell_sequence = refuse
        with self.assertRaisesRegex(ControlError, "in progress"):
            plan = scan.plan({"a.key": [1]}, slices=1)
            scan.carry_out(farm, plan, scan.Results(), tell=scan.progress_of(farm))
        self.assertEqual(farm.run, 0)

    def test_the_remaining_time_is_that_of_the_runs_so_far(self):
        self.assertIsNone(scan.remaining_s([], 3))
        point = scan.Point({"a.key": 1})
        taken = [scan.Done(point, 1, "", {}, 2.0), scan.Done(point, 2, "", {}, 4.0)]
        self.assertEqual(scan.remaining_s(taken, 5), 15.0)

    def test_a_resumed_scan_is_the_same_one_and_two_do_not_share_a_file(self):
        path, farm = self.path("results.jsonl"), MadeUpFarm()
        for _ in range(2):
            scan.progress_of(farm, path)(scan.Progress("scan", 1, 0, 0))
        self.assertEqual(len({identity for _, identity, _ in farm.log}), 1)
        first = scan.Results(path)
        first.lock()
        with self.assertRaisesRegex(ControlError, "another scan writes"):
            scan.Results(path).lock()
        first._lock.close()
        second = scan.Results(path)
        second.lock()
        second._lock.close()

    def test_results_are_lines_of_json(self):
        path = self.path("results.jsonl")
        scan.carry_out(MadeUpFarm(), scan.plan({"a.key": ["x"]}, slices=1), scan.Results(path))
        with open(path, encoding="utf-8") as file:
            begin, end = (json.loads(line) for line in file)
        self.assertEqual((begin["begins"], begin["run"]), (True, 1))
        self.assertEqual((end["values"], end["failure"], end["result"]["stored"]), ({"a.key": "x"}, "", 5))


if __name__ == "__main__":
    support.main()
