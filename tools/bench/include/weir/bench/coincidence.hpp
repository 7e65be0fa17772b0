#pragma once

#include <weir/bench/emulated_trigger.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// `weir bench coincidence`: efficiency, purity, data reduction and CPU time of the muon trigger.
namespace weir::bench {

struct CoincidenceOptions {
  std::uint64_t slices = 2000;       // of the sector line (15 modules), per point
  std::uint64_t large_slices = 100;  // of ten strings (900 modules), per point
  std::vector<std::string> search_path;
  std::string out;  // folder; empty: no output
  std::string name = "coincidence";
  std::string command;
};

// One setting of detector and trigger.
struct CoincidencePoint {
  std::string varied;  // length, background, bursts, reduction, search
  emulation::HitsSettings settings;
  std::uint32_t minimum = 0;  // floors of a cluster
  std::string search = "vector";
  TriggerScore score;
};

[[nodiscard]] std::string to_json_line(const CoincidencePoint& point);
// Writes a line of JSON per point to `out`. Returns 0, or 1 with a message to `err`.
int run_coincidence(const CoincidenceOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
