#pragma once

#include <weir/bench/figure.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// `weir bench isolation`: farms with a filter that misbehaves in its workers.
namespace weir::bench {

struct IsolationLanguage {
  std::string name;    // "c++" or "python"
  std::string plugin;  // accepts every slice and misbehaves as its parameters `what` and `every` say
  std::vector<std::string> worker_command;
};

struct IsolationOptions {
  std::vector<IsolationLanguage> languages;
  std::vector<std::string> search_path;  // of their plugins
  std::vector<std::string> faults;       // of isolation_faults(); empty: all
  std::uint64_t slices = 100'000;
  std::uint64_t every = 1000;  // one bad slice in N
  std::uint32_t timeout_ms = 200;
  double tolerance = 0.05;  // of the rate; 0: it is not judged
  bool spin = false;        // a thread that computes for each core, besides the farm
  std::string folder;       // for the runs' files; made, and removed
  Output output{.name = "isolation"};
};

// Runs each fault in a farm of its own, and a farm without faults before them. Checks that the run balances,
// exactly the bad slices are poison, no byte of another slice has changed, every DCM lived, and that the
// slices took no longer than without faults plus the kills' time. Writes a line of JSON for each. Returns 0,
// 1 if a check failed, 2 if a run did not take place.
int run_isolation(const IsolationOptions& options, std::FILE* out, std::FILE* err);

// Names of all faults.
[[nodiscard]] std::vector<std::string> isolation_faults();

}  // namespace weir::bench
