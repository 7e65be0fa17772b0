#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/ceiling.hpp>
#include <weir/bench/figure.hpp>
#include <weir/bench/loopback.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace weir::bench {

// A farm of as many readouts as DCMs, and with as many of the machine's cores.
struct ScalePoint {
  std::uint32_t processes = 1;  // readouts, and DCMs
  std::uint32_t cores = 1;
  std::uint32_t sources = 4;  // of each readout
  std::uint32_t fragment_bytes = 1024;
};

struct ScaleOptions {
  std::vector<std::uint32_t> processes;  // empty: 1, 2, 4, … up to the machine's cores
  std::vector<std::uint32_t> cores;      // likewise
  std::vector<std::uint32_t> fragment_bytes{1024, 65'536};
  std::uint32_t sources = 4;
  std::uint32_t rounds = 3;
  double seconds = 1.5;  // of each measurement
};

// Returns 1, 2, 4, … and `most`, ascending. Requires: most > 0.
[[nodiscard]] std::vector<std::uint32_t> doublings(std::uint32_t most);
// Returns the number of cores that this process may use.
[[nodiscard]] std::uint32_t usable_cores();

// Runs farm and bare exchange, both on the first `cores` of the cores that this process may use; gives them
// back afterwards. Requires: 0 < cores <= usable_cores().
[[nodiscard]] Expected<Line, std::string> measure_scale(const ScalePoint& point, double seconds);
[[nodiscard]] Line line_of(const ScalePoint& point, const LoopbackRun& farm, const CeilingResult& ceiling);

// Measures each point round after round. Returns the exit status.
[[nodiscard]] int run_scale(const ScaleOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
