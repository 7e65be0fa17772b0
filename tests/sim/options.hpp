#pragma once

#include "scenario.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::sim {

struct Options {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
  std::uint32_t jobs = 1;
  double seconds_max = 0;           // no new seed after that; 0: no limit
  std::uint64_t failures_max = 10;  // gives up then
  bool trace = false;
  bool shrink = false;
  std::string rates;  // as given
  ScenarioLimits limits;
  std::string progress;  // a file: where a range has got to
  bool quiet = false;
  std::string planted;
  std::vector<std::size_t> only;  // numbers of the faults to keep; empty: all
  bool no_faults = false;
  bool check_journal = false;
};

// Returns -1 to continue, otherwise the exit status.
[[nodiscard]] int parse_options(int argc, char** argv, Options& options);

}  // namespace weir::sim
