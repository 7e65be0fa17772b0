#include "filter_project.hpp"

#include "commands.hpp"
#include "new_project.hpp"
#include <weir/python_host/interpreter.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ostream>
#include <span>
#include <string_view>
#include <system_error>

namespace weir::commands {
namespace {

constexpr std::string_view kFarmFile =
    R"(# A farm on this machine that tries the filter: `weir run farm.yaml`.
farm: @name@

run:
  out: run
  slices: 1000

trigger:
  mode: rate
  rate_hz: 1000

source:
  kind: dummy
  distribution: exponential
  size_bytes: 1000

readout:
  count: 2
  sources_per_readout: 4

dcm:
  count: 1

filter:
  plugin: @plugin@
  parameters:
    minimum: 7000

writer:
  count: 1
)";

constexpr ProjectFile kCppFiles[] = {
    {"algorithm.hpp", R"(// The algorithm, without Weir: easy to test.
#pragma once

#include <cstddef>
#include <span>

// Bytes that differ from their predecessor: data that change carry information.
inline std::size_t changes(std::span<const std::byte> bytes) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < bytes.size(); ++i) count += bytes[i] != bytes[i - 1] ? 1 : 0;
  return count;
}
)"},
    {"@file@.cpp", R"(#include "algorithm.hpp"

#include <weir/filter.hpp>

class @Class@ : public weir::Filter {
 public:
  explicit @Class@(weir::FilterSetup& setup)
      : Filter(setup),
        minimum_(setup.parameter("minimum", 1000U)),
        changes_(book_histogram("changes", 100, 0, 100000)) {}

  weir::Decision process(const weir::Slice& slice) override {
    std::size_t found = 0;
    for (const weir::Fragment fragment : slice)
      if (!fragment.missing()) found += changes(fragment.bytes());
    changes_.fill(static_cast<double>(found));
    return found >= minimum_ ? accept() : reject();
  }

 private:
  unsigned minimum_;
  weir::Histogram1D changes_;
};
WEIR_FILTER_PLUGIN(@Class@, "@name@", "0.1", "accepts slices with at least `minimum` changing bytes")
)"},
    {"algorithm_test.cpp", R"(#include "algorithm.hpp"

#include <array>
#include <cstdio>

int main() {
  const std::array<std::byte, 4> bytes{std::byte{1}, std::byte{1}, std::byte{2}, std::byte{1}};
  if (changes(bytes) != 2 || changes({}) != 0) {
    std::puts("changes() counts wrongly");
    return 1;
  }
  return 0;
}
)"},
    {"CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.25)
project(@file@ LANGUAGES CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)  # an algorithm that is not optimised can be fifty times slower
endif()

find_package(Weir REQUIRED COMPONENTS FilterSDK)
option(ASAN "AddressSanitizer, for 'weir filter try --asan'" OFF)
if(ASAN)
  add_compile_options(-fsanitize=address -g)
endif()
weir_add_filter_plugin(@name@ @file@.cpp)

enable_testing()
add_executable(algorithm_test algorithm_test.cpp)
target_compile_features(algorithm_test PRIVATE cxx_std_20)
add_test(NAME algorithm COMMAND algorithm_test)

# Runs the plugin in a small farm on this machine, then tries it on the stored slices.
find_program(WEIR weir)
if(WEIR)
  add_test(NAME farm COMMAND ${WEIR} run "${CMAKE_CURRENT_SOURCE_DIR}/farm.yaml" --out farm-run
    --set filter.plugin=$<TARGET_FILE:@name@>)
  add_test(NAME try COMMAND ${WEIR} filter try $<TARGET_FILE:@name@> farm-run --repeat 2)
  set_tests_properties(farm PROPERTIES FIXTURES_SETUP recording TIMEOUT 120)
  set_tests_properties(try PROPERTIES FIXTURES_REQUIRED recording TIMEOUT 120)
endif()
)"},
    {"farm.yaml", kFarmFile},
    {".gitlab-ci.yml", R"(# Needs a runner with g++, CMake and the Weir packages.
test:
  script:
    - cmake -B build -DCMAKE_BUILD_TYPE=Release
    - cmake --build build
    - ctest --test-dir build --output-on-failure
)"},
    {"README.md", R"(# @name@

A filter for Weir.

```sh
@configure@
cmake --build build
ctest --test-dir build
weir run farm.yaml --out run                           # a farm on this machine
weir filter try build/@name@.so run --set minimum=4500 # another threshold on the stored slices, without a farm
```
`algorithm.hpp` holds the algorithm, `@file@.cpp` its connection to Weir, `algorithm_test.cpp` its test.
)"},
};

constexpr ProjectFile kPythonFiles[] = {
    {"@file@.py", R"("""A filter for Weir."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from weir_daq.filters import Decision, Setup, Slice, accept, reject

__version__ = "0.1"


def changes(data: npt.NDArray[Any]) -> int:
    """Bytes that differ from their predecessor: data that change carry information."""
    return int(np.count_nonzero(data[1:] != data[:-1]))


class Filter:
    """accepts slices with at least `minimum` changing bytes"""

    def __init__(self, setup: Setup) -> None:
        self.minimum = setup.parameter("minimum", 1000)
        self.changes = setup.book_histogram("changes", 100, 0, 100000)

    def process(self, slice: Slice) -> Decision:
        found = sum(changes(fragment.data) for fragment in slice if not fragment.missing)
        self.changes.fill(found)
        return accept() if found >= self.minimum else reject()
)"},
    {"test_@file@.py", R"("""Run with python3 -m unittest."""

import os
import shutil
import subprocess
import tempfile
import unittest

from weir_daq.filter_testing import make_setup, make_slice

from @file@ import Filter

HERE = os.path.dirname(os.path.abspath(__file__))


class FilterTest(unittest.TestCase):
    def test_it_counts_the_bytes_that_change(self) -> None:
        decide = Filter(make_setup(minimum=2)).process
        self.assertTrue(decide(make_slice({1: b"\1\1\2\1"})).accepted)
        self.assertTrue(decide(make_slice({1: b"\1\1\2\2", 2: None})).rejected)

    @unittest.skipUnless(shutil.which("weir"), "weir is not on the path")
    def test_it_decides_in_a_farm_and_decides_alike_twice(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "run")
            subprocess.run(["weir", "run", "farm.yaml", "--out", out], cwd=HERE, check=True, capture_output=True)
            subprocess.run(["weir", "filter", "try", "./@file@.py", out, "--repeat", "2"], cwd=HERE, check=True)


if __name__ == "__main__":
    unittest.main()
)"},
    {"farm.yaml", kFarmFile},
    {".gitlab-ci.yml", R"(# Needs a runner with the Weir packages and python3-numpy.
test:
  script:
    - python3 -m unittest
)"},
    {"README.md", R"(# @name@

A filter for Weir in Python.

```sh
export PYTHONPATH=@modules@      # for the test alone: a farm finds its modules
python3 -m unittest                                   # needs NumPy: /usr/bin/python3 with apt install python3-numpy, or pip install numpy
weir run farm.yaml --out run --page 127.0.0.1:0       # a farm on this machine; its page shows the histogram
weir filter try ./@file@.py run --set minimum=4500    # another threshold on the stored slices, without a farm
```
`@file@.py` is the filter, `test_@file@.py` its test.
)"},
};

bool is_filter_name(std::string_view name) {
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
         std::ranges::all_of(name, [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
         });
}

// Names this installation's SDK where CMake does not look by itself.
std::string configure_command() {
  const std::string prefix = python_host::installation();
  const std::string command = "cmake -B build -DCMAKE_BUILD_TYPE=Release";
  if (prefix == "/usr" || prefix == "/usr/local") return command;
  if (std::error_code error; std::filesystem::exists(prefix + "/lib/cmake/Weir", error))
    return command + " -DCMAKE_PREFIX_PATH='" + prefix + "'";
  return command + "  # with -DCMAKE_PREFIX_PATH=PREFIX when Weir's SDK is not installed system-wide";
}

std::string filled(std::string_view text, const std::string& name, bool in_python) {
  std::string file = name;
  std::ranges::replace(file, '-', '_');
  const std::array<std::pair<std::string_view, std::string>, 6> marks{
      {{"@name@", name},
       {"@configure@", configure_command()},
       {"@modules@", python_host::installation() + "/lib/weir/python"},
       {"@file@", file},
       {"@Class@", class_name(name)},
       {"@plugin@", in_python ? "./" + file + ".py" : "./build/" + name + ".so"}}};
  std::string out(text);
  for (const auto& [mark, value] : marks)
    for (std::size_t at = out.find(mark); at != out.npos; at = out.find(mark, at + value.size()))
      out.replace(at, mark.size(), value);
  return out;
}

}  // namespace

int create_filter_project(const std::string& name, const std::string& folder, bool in_python,
                          std::ostream& out, std::ostream& err) {
  if (!is_filter_name(name)) {
    err << "weir filter new: '" << name
        << "' is not a name for a filter: begin with a lower-case letter, then use "
        << "lower-case letters, digits and '-', for example big-slices\n";
    return kUsage;
  }
  const std::span<const ProjectFile> files =
      in_python ? std::span<const ProjectFile>(kPythonFiles) : std::span<const ProjectFile>(kCppFiles);
  const auto fill = [&](std::string_view text) { return filled(text, name, in_python); };
  if (const int status = create_project("weir filter new", folder, files, fill, err); status != 0)
    return status;
  out << "Created " << folder << ". Next:\n  cd " << folder << "\n  "
      << (in_python ? "PYTHONPATH=" + python_host::installation() + "/lib/weir/python python3 -m unittest"
                    : configure_command() + "\n  cmake --build build && ctest --test-dir build")
      << "\n"
      << "Its README.md has the rest.\n";
  return 0;
}

}  // namespace weir::commands
