#pragma once

#include "conversation.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::session_test {

struct SearchOptions {
  std::vector<Part> roles;
  std::uint64_t first = 1;
  std::uint64_t last = 1;
  std::uint32_t jobs = 1;
  double seconds_max = 0;           // no new conversation after that; 0: no limit
  std::uint64_t failures_max = 10;  // gives up then
};

// Runs every seed for every role, each job in a separate process: a crash fails only that conversation, and
// its seed is printed. Prints failures and the sum for each role. Returns the exit status: 0 if none failed.
[[nodiscard]] int search(const SearchOptions& options);

}  // namespace weir::session_test
