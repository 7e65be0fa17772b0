#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

// `weir bench filter`: the cost of a slice with the filter in the process, in a worker, and in Python.
namespace weir::bench {

struct FilterOptions {
  std::string plugin = "accept-all";
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<std::string> search_path;
  std::vector<std::string> worker_command;
  std::string python_plugin;  // the same filter in Python; empty: it is left out
  std::vector<std::string> python_command;
  std::uint32_t slice_bytes = 16384;
  std::uint32_t sources = 16;
  std::uint64_t slices = 500'000;  // per measurement
  std::uint32_t in_flight = 256;
  std::uint32_t rounds = 3;
};

// Measures in turn, round after round; writes a line of JSON for each, and one with the medians of each way
// and their differences from the first. Returns 0, or 1 with a message to `err`.
int run_filter(const FilterOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
