#include "source_project.hpp"

#include "commands.hpp"
#include "new_project.hpp"
#include <weir/python_host/interpreter.hpp>

#include <algorithm>
#include <array>
#include <ostream>
#include <span>
#include <string_view>
#include <utility>

namespace weir::commands {
namespace {

constexpr std::string_view kSourceFarm =
    R"(# A farm on this machine that tries the source: `weir run farm.yaml`.
farm: @name@

run:
  out: run
  slices: 1000

trigger:
  mode: rate
  rate_hz: 1000

source:
  kind: plugin
  plugin: @plugin@
  parameters:
    length: 2000

readout:
  count: 2
  sources_per_readout: 2

dcm:
  count: 1

writer:
  count: 1
)";

constexpr ProjectFile kSourceInPython[] = {
    {"@file@.py", R"("""A source for Weir."""

from __future__ import annotations

from weir_daq import Source
from weir_daq.sources import SourceSetup

__version__ = "0.1"


class @Class@(Source):
    """`length` bytes of source + slice"""

    def __init__(self, setup: SourceSetup) -> None:
        self.length = setup.parameter("length", 1000, lowest=1)

    def fragment(self, slice_id: int) -> bytes | None:
        return bytes([(self.source + slice_id) % 256]) * self.length
)"},
    {"test_@file@.py", R"("""Run with python3 -m unittest."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest

from weir_daq.sources import SourceSetup

from @file@ import @Class@

HERE = os.path.dirname(os.path.abspath(__file__))


class SourceTest(unittest.TestCase):
    def test_it_makes_as_many_bytes_as_it_shall(self) -> None:
        self.assertEqual(@Class@(SourceSetup({"length": "3"}, source=1)).fragment(7), b"\7\7\7")

    @unittest.skipUnless(shutil.which("weir"), "weir is not on the path")
    def test_it_serves_a_farm(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["weir", "source", "try", "./@file@.py"], cwd=HERE, check=True)
            out = os.path.join(folder, "run")
            subprocess.run(["weir", "run", "farm.yaml", "--out", out], cwd=HERE, check=True, capture_output=True)


if __name__ == "__main__":
    unittest.main()
)"},
    {"farm.yaml", kSourceFarm},
    {"README.md", R"(# @name@

A source for Weir in Python.

```sh
export PYTHONPATH=@modules@      # for the test alone: a farm finds its modules
python3 -m unittest                        # needs NumPy
weir source try ./@file@.py --set length=5 --slices 3 --list
weir run farm.yaml --out run               # a farm on this machine
```
`@file@.py` is the source, `test_@file@.py` its test.
)"},
};

constexpr ProjectFile kSourceInCpp[] = {
    {"@file@.cpp", R"(#include <weir/source.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

class @Class@ : public weir::SyncSource {
 public:
  explicit @Class@(weir::SourceSetup& setup) : SyncSource(setup), length_(setup.parameter("length", 1000U)) {}
  weir::SourceBytes make(std::uint32_t source, const weir_source_trigger& trigger) override {
    return weir::SourceBytes(std::vector<std::byte>(length_, static_cast<std::byte>(source + trigger.slice)));
  }

 private:
  unsigned length_;
};
WEIR_SOURCE_PLUGIN(@Class@, "@name@", "0.1", "`length` bytes of source + slice")
)"},
    {"CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.25)
project(@file@ LANGUAGES CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_package(Weir REQUIRED COMPONENTS SourceSDK)
weir_add_source_plugin(@name@ @file@.cpp)

enable_testing()
find_program(WEIR weir)
if(WEIR)
  add_test(NAME try COMMAND ${WEIR} source try $<TARGET_FILE:@name@>)
  add_test(NAME farm COMMAND ${WEIR} run "${CMAKE_CURRENT_SOURCE_DIR}/farm.yaml" --out farm-run
    --set source.plugin=$<TARGET_FILE:@name@>)
endif()
)"},
    {"farm.yaml", kSourceFarm},
    {"README.md", R"(# @name@

A source for Weir.

```sh
cmake -B build -DCMAKE_PREFIX_PATH='@prefix@' && cmake --build build
ctest --test-dir build
weir source try build/@name@.so --set length=5 --slices 3 --list
weir run farm.yaml --out run               # a farm on this machine
```
)"},
};

bool is_source_name(std::string_view name) {
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
         std::ranges::all_of(name, [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
         });
}

// Replaces the marks of a template.
class SourceMarks {
 public:
  SourceMarks(const std::string& name, bool in_python) {
    std::string file = name;
    std::ranges::replace(file, '-', '_');
    const std::string prefix = python_host::installation();
    marks_ = {{{"@name@", name},
               {"@file@", file},
               {"@Class@", class_name(name)},
               {"@plugin@", in_python ? "./" + file + ".py" : "./build/" + name + ".so"},
               {"@modules@", prefix + "/lib/weir/python"},
               {"@prefix@", prefix}}};
  }
  [[nodiscard]] std::string fill(std::string_view text) const {
    std::string out(text);
    for (const auto& [mark, value] : marks_)
      for (std::size_t at = out.find(mark); at != out.npos; at = out.find(mark, at + value.size()))
        out.replace(at, mark.size(), value);
    return out;
  }

 private:
  std::array<std::pair<std::string_view, std::string>, 6> marks_;
};

}  // namespace

int create_source_project(const std::string& name, const std::string& folder, bool in_python,
                          std::ostream& out, std::ostream& err) {
  if (!is_source_name(name)) {
    err << "weir source new: '" << name
        << "' is not a name for a source: begin with a lower-case letter, then use "
        << "lower-case letters, digits and '-', for example ramp\n";
    return kUsage;
  }
  const SourceMarks marks(name, in_python);
  const std::span<const ProjectFile> files =
      in_python ? std::span<const ProjectFile>(kSourceInPython) : std::span<const ProjectFile>(kSourceInCpp);
  const auto fill = [&](std::string_view text) { return marks.fill(text); };
  if (const int status = create_project("weir source new", folder, files, fill, err); status != 0)
    return status;
  out << "Created " << folder << ". Next:\n  cd " << folder << "\n  "
      << (in_python ? "weir source try " + marks.fill("@plugin@")
                    : marks.fill("cmake -B build -DCMAKE_PREFIX_PATH='@prefix@' && cmake --build build"))
      << "\nIts README.md has the rest.\n";
  return 0;
}

}  // namespace weir::commands
