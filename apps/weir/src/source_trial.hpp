#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace weir::commands {

struct SourceTrial {
  std::string plugin;  // a name or a path
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<std::string> search_path;
  std::string python;
  std::uint32_t sources = 1;
  std::uint64_t slices = 1000;
  std::uint32_t wait_ms = 1000;
  bool list = false;
};

// `weir source try`: plays a readout without a farm. Results to `out`, errors to `err`; returns the exit
// status.
[[nodiscard]] int try_source(const SourceTrial& trial, std::ostream& out, std::ostream& err);

}  // namespace weir::commands
