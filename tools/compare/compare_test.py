import os
import stat
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import compare

WEIR = """#!/bin/sh
out=$(sed -n "s/.*out: '\\(.*\\)', duration.*/\\1/p" "$2")
grep -q 'size_bytes: 512, size_bytes_max: 512' "$2" || exit 1
echo '{"goodput_bytes_per_s": 2.5e8}' > "$out/run-000001-end.json"
"""


class CompareTest(unittest.TestCase):
    def program(self, folder, text):
        path = Path(folder, "weir")
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_the_ratio_is_the_median_of_the_rounds_ratios(self):
        line = compare.line_of("1.0.2", 1024, [100, 300, 900], [50, 100, 1000])
        self.assertEqual(line["ratio"], 2.0)
        self.assertEqual(line["weir_bytes_per_s"], 300)
        self.assertEqual(line["peer_bytes_per_s"], 100)
        self.assertEqual(line["rounds"], 3)

    def test_weirs_rate_is_that_of_its_end_record(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(compare.measure_weir(self.program(folder, WEIR), 512, 1), 2.5e8)

    def test_a_farm_that_fails_is_an_error_with_its_words(self):
        with tempfile.TemporaryDirectory() as folder:
            weir = self.program(folder, "#!/bin/sh\necho 'the farm is unwell'; exit 3\n")
            with self.assertRaisesRegex(compare.Failed, "the farm is unwell"):
                compare.measure_weir(weir, 512, 1)


if __name__ == "__main__":
    unittest.main()
