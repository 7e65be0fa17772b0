#pragma once

#include "judge.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::packet_model {

struct Options {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // 0: no seeds
  std::uint32_t jobs = 1;
  std::uint32_t runs = 1;  // of each network and shaper
  double seconds_max = 0;
  std::uint32_t worst = 10;  // printed
  std::vector<ShaperSpec> shapers;
  std::string case_name;
  bool cases = false;
  bool describe = false;
  bool shrink = false;
  bool quiet = false;
  Limits limits;
  bool limits_given = false;
  std::vector<std::string> without;  // features that the seeds' networks are without
  PullRunSpec run;
};

// Returns -1 to continue, otherwise the exit status.
[[nodiscard]] int parse_options(int argc, char** argv, Options& options);

}  // namespace weir::packet_model
