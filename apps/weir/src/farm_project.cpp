#include "farm_project.hpp"

#include "commands.hpp"
#include "new_project.hpp"
#include <weir/python_host/interpreter.hpp>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string_view>
#include <system_error>

namespace weir::commands {
namespace {

namespace fs = std::filesystem;

constexpr ProjectFile kFiles[] = {
    {"farm.yaml",
     R"(# The farm: `weir run .` in this folder. `weir check .` checks this file; docs/configuration.md lists every key.
farm: @name@

run:
  out: run                 # folder of data, records and logs
  slices: 2000             # 0: until Ctrl-C

# A trigger makes a slice. For a trigger of your own: `mode: network, listen_text: "127.0.0.1:5571"`, docs/triggers.md.
trigger:
  mode: rate
  rate_hz: 500

# Two readouts with two channels each; every channel is a FrontEnd object in front_end.py.
source:
  kind: plugin
  plugin: ./front_end.py
  parameters:
    samples: 200
readout:
  count: 2
  sources_per_readout: 2

# A DCM collects the four fragments of a slice and asks the filter.
dcm:
  count: 1
filter:
  plugin: ./pulse_filter.py
  parameters:
    threshold: 150

writer:
  count: 1
)"},
    {"front_end.py", R"("""A front-end: the samples of one channel."""

from __future__ import annotations

import numpy as np
from weir_daq import Source
from weir_daq.sources import SourceSetup

__version__ = "0.1"


class FrontEnd(Source):
    """`samples` 16-bit samples of noise; one slice in four has a pulse"""

    def __init__(self, setup: SourceSetup) -> None:
        self.samples = setup.parameter("samples", 200)
        self.random = np.random.default_rng(setup.source)

    def fragment(self, slice_id: int) -> bytes:
        """Returns the bytes of a slice. Read your board here."""
        volts = self.random.normal(100, 3, self.samples)
        if slice_id % 4 == 0:
            volts[self.samples // 4 : self.samples // 3] += 100
        return volts.astype("<u2").tobytes()
)"},
    {"pulse_filter.py", R"("""A filter: keeps slices with a pulse."""

from __future__ import annotations

from weir_daq.filters import Decision, Setup, Slice, accept, reject

__version__ = "0.1"


class Filter:
    """accepts slices in which a sample exceeds `threshold`"""

    def __init__(self, setup: Setup) -> None:
        self.threshold = setup.parameter("threshold", 150)
        self.heights = setup.book_histogram("height", 100, 0, 400)

    def process(self, slice: Slice) -> Decision:
        height = max((int(one.data.view("<u2").max()) for one in slice if one.data.size), default=0)
        self.heights.fill(height)
        return accept() if height > self.threshold else reject()
)"},
    {"test_farm.py", R"("""Run with python3 -m unittest."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest

from weir_daq.filter_testing import make_setup, make_slice
from weir_daq.sources import SourceSetup

from front_end import FrontEnd
from pulse_filter import Filter

HERE = os.path.dirname(os.path.abspath(__file__))


class FarmTest(unittest.TestCase):
    def test_the_filter_finds_the_pulses_of_the_front_end(self) -> None:
        channel = FrontEnd(SourceSetup({"samples": "60"}, 1))
        decide = Filter(make_setup(threshold=150)).process
        self.assertTrue(decide(make_slice({1: channel.fragment(4)})).accepted)
        self.assertTrue(decide(make_slice({1: channel.fragment(5), 2: None})).rejected)

    @unittest.skipUnless(shutil.which("weir"), "weir is not on the path")
    def test_the_farm_runs_and_its_ledger_balances(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            command = ["weir", "run", HERE, "--slices", "200", "--out", os.path.join(folder, "run")]
            subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    unittest.main()
)"},
    {"README.md", R"(# @name@

```sh
weir run . --page 127.0.0.1:0        # the farm; its page shows the histogram of the filter
weir file ls run/*.weir              # the slices that the filter accepted
python3 -m unittest                  # the test; first: export PYTHONPATH=@modules@
```
`front_end.py` reads a channel, `pulse_filter.py` decides, `farm.yaml` connects them.
)"},
};

// A farm's name has letters, digits and '-'; anything else of the folder's name is left out.
std::string farm_name(const fs::path& folder) {
  std::string name = fs::absolute(folder).lexically_normal().filename().string();
  if (name.empty()) name = fs::absolute(folder).lexically_normal().parent_path().filename().string();
  const auto bad = [](char c) {
    return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
             c == '_');
  };
  std::erase_if(name, bad);
  return name.empty() ? "farm" : name;
}

std::string modules() { return python_host::installation() + "/lib/weir/python"; }

std::string filled(std::string_view text, const std::string& name) {
  const std::pair<std::string_view, std::string> marks[] = {{"@name@", name}, {"@modules@", modules()}};
  std::string out(text);
  for (const auto& [mark, value] : marks)
    for (std::size_t at = out.find(mark); at != out.npos; at = out.find(mark, at + value.size()))
      out.replace(at, mark.size(), value);
  return out;
}

bool is_farm_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) && fs::exists(fs::path(path) / "farm.yaml", error);
}

}  // namespace

int create_farm_project(const std::string& folder, std::ostream& out, std::ostream& err) {
  const std::string name = farm_name(folder);
  const auto fill = [&](std::string_view text) { return filled(text, name); };
  if (const int status = create_project("weir new", folder, kFiles, fill, err); status != 0) return status;
  out << "Created " << folder
      << ": farm.yaml, front_end.py, pulse_filter.py, test_farm.py, README.md. Next:\n"
      << "  weir run " << folder << " --page 127.0.0.1:0\n";
  return 0;
}

void enter_farm_folder(std::string& farm_file) {
  if (!is_farm_folder(farm_file)) return;
  fs::current_path(farm_file);
  farm_file = "farm.yaml";
}

void keep_path(const std::string& farm_file, std::string& path) {
  if (!path.empty() && is_farm_folder(farm_file)) path = fs::absolute(path).string();
}

}  // namespace weir::commands
