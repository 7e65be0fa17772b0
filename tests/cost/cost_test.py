import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cost  # noqa: E402

COMMITTED = {"dcm": {"per": "fragment", "instructions": 1000, "system_calls": 0.2, "allocations": 0.1, "copied_bytes": 100}}


def compared(point="64B-4x4", **changes):
    lines, dearer = cost.compare(point, {"dcm": dict(COMMITTED["dcm"], **changes)}, COMMITTED)
    return "\n".join(lines), dearer


class CompareTest(unittest.TestCase):
    def test_what_costs_as_much_as_before_is_good(self):
        text, dearer = compared(instructions=1019, system_calls=0.24, allocations=0.14, copied_bytes=104)
        self.assertEqual(dearer, 0)
        self.assertNotIn("update", text)

    def test_each_figure_that_rises_fails(self):
        for change in ({"instructions": 1021}, {"system_calls": 0.31}, {"allocations": 0.16}, {"copied_bytes": 106}):
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
        for instructions, dearer in ((1070, 0), (1090, 1)):
            measured = {"supervisor": dict(COMMITTED["dcm"], instructions=instructions)}
            self.assertEqual(cost.compare("64B-4x4", measured, supervisor)[1], dearer)

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
