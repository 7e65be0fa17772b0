import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cost

COMMITTED = {"dcm": {"per": "fragment", "instructions": 1000, "system_calls": 0.2, "allocations": 0.1, "copied_bytes": 100}}


def compared(point="64B-4x4", **changes):
    lines, dearer = cost.compare(point, {"dcm": dict(COMMITTED["dcm"], **changes)}, COMMITTED)
    return "\n".join(lines), dearer


class CompareTest(unittest.TestCase):
    def test_what_costs_as_much_as_before_is_good(self):
        text, dearer = compared(instructions=1029, system_calls=0.24, allocations=0.14, copied_bytes=104)
        self.assertEqual(dearer, 0)
        self.assertNotIn("update", text)

    def test_each_figure_that_rises_fails(self):
        for change in ({"instructions": 1031}, {"system_calls": 0.31}, {"allocations": 0.16}, {"copied_bytes": 106}):
            text, dearer = compared(**change)
            self.assertEqual(dearer, 1, change)
            self.assertIn("MORE", text)

    def test_a_figure_that_falls_is_to_be_committed(self):
        text, dearer = compared(instructions=900)
        self.assertEqual(dearer, 0)
        self.assertIn("-10.0 %  cheaper: --update", text)

    def test_where_a_disk_has_its_time_in_it_there_is_more_room(self):
        self.assertEqual(compared("64KiB-4x4-stored", instructions=1140)[1], 0)
        self.assertEqual(compared("64KiB-4x4-stored", instructions=1160)[1], 1)

    def test_a_supervisors_figures_have_the_room_that_its_passes_need(self):
        supervisor = {"supervisor": COMMITTED["dcm"]}
        for point, instructions, dearer in (("64B-4x4", 1039, 0), ("64B-4x4", 1041, 1),
                                            ("simulated", 1029, 0), ("simulated", 1031, 1),
                                            ("simulated-number", 1029, 0), ("simulated-time", 1031, 1)):
            measured = {"supervisor": dict(COMMITTED["dcm"], instructions=instructions)}
            self.assertEqual(cost.compare(point, measured, supervisor)[1], dearer)

    def test_what_a_role_calls_counts_as_the_roles(self):
        profile = "\n".join([
            "fn=(1) weir::sim::run()", "3 10", "cfn=(2) weir::dcm::DcmNode::pass(long)", "calls=2 0", "3 100",
            "fn=(2)", "5 40", "cfn=(3) weir::wire::encode()", "calls=4 0", "5 60", "cfn=(2)", "calls=1 0", "6 7",
            "fn=(3)", "1 60", "cfn=(4) weir::dcm::on_sent()", "calls=1 0", "2 9", ""])
        with tempfile.NamedTemporaryFile("w", suffix=".callgrind") as file:
            file.write(profile)
            file.flush()
            self.assertEqual(cost.entered(file.name, "weir::dcm::"), 109)
            self.assertEqual(cost.entered(file.name, "weir::wire::"), 60)

    def test_a_supervisors_passes_are_left_out_where_no_disk_sets_the_pace(self):
        profile = "\n".join(["fn=(1) main", "3 10", "cfn=(2) weir::supervisor::SupervisorNode::pass(long)", "calls=2 0",
                             "3 90000", "summary: 100000", ""])
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "supervisor.17.callgrind"), "w", encoding="utf-8") as file:
                file.write(profile)
            for kind, instructions in (("", 91000), ("stored", 100000)):
                self.assertEqual(cost.counted_by_valgrind(folder, kind)["supervisor"]["instructions"], instructions)

    def test_what_depends_on_the_machines_other_work_has_much_room(self):
        supervisor = {"supervisor": COMMITTED["dcm"]}
        lines, dearer = cost.compare("64KiB-4x4-stored", {"supervisor": dict(COMMITTED["dcm"], instructions=2000)}, supervisor)
        self.assertEqual(dearer, 0)
        self.assertNotIn("MORE", "\n".join(lines))
        self.assertEqual(cost.compare("64KiB-4x4-stored", {"supervisor": dict(COMMITTED["dcm"], instructions=4100)}, supervisor)[1], 1)
        self.assertEqual(cost.compare("64B-4x4", {"supervisor": dict(COMMITTED["dcm"], instructions=2000)}, supervisor)[1], 1)

    def test_of_several_measurements_the_least_counts(self):
        again = {"dcm": dict(COMMITTED["dcm"], instructions=1100, allocations=0.05)}
        self.assertEqual(cost.least({"dcm": COMMITTED["dcm"]}, again), {"dcm": dict(COMMITTED["dcm"], allocations=0.05)})

    def test_what_was_committed_and_is_not_measured_fails(self):
        measured = {"dcm": {key: value for key, value in COMMITTED["dcm"].items() if key != "allocations"}}
        lines, dearer = cost.compare("64B-4x4", measured, COMMITTED)
        self.assertEqual(dearer, 1)
        self.assertIn("was not measured", "\n".join(lines))
        self.assertEqual(cost.compare("64B-4x4", {}, COMMITTED)[1], 4)

    def test_what_was_never_committed_is_compared_with_nothing(self):
        self.assertEqual(cost.compare("64B-4x4", {"writer": {"per": "slice", "instructions": 5}}, {})[1], 0)


if __name__ == "__main__":
    unittest.main()
