#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/figure.hpp>
#include <weir/reports/loop_use.hpp>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace weir::bench {

// A measured rate, of a farm or of a reference.
struct Rate {
  double fragments_per_s = 0;
  double goodput_bytes_per_s = 0;
  double cpu_us_per_fragment = 0;  // of all processes together
  double system_calls_per_fragment = 0;
};

// One point of the benchmark: a whole farm on loopback, dummy data, accept-all, without storage.
struct LoopbackPoint {
  std::uint32_t readouts = 4;
  std::uint32_t sources = 4;  // of each readout
  std::uint32_t dcms = 1;
  std::uint32_t fragment_bytes = 1024;
  bool checksums = true;
};

struct LoopbackOptions {
  std::vector<std::uint32_t> fragment_bytes{64, 1024, 4096, 16384, 65536, 262144, 1048576};
  std::vector<std::uint32_t> dcms{1, 2};
  std::vector<std::string> checksums{"on", "off"};
  std::uint32_t readouts = 4;
  std::uint32_t sources = 4;
  std::uint32_t rounds = 3;
  double seconds = 1.5;   // of each measurement
  std::string yardstick;  // a further reference program, run in turn with the others; empty: none
  bool tls = false;       // the same farm over TLS, too
};

// A farm's rate, with how its processes used their cores.
struct LoopbackRun {
  Rate rate;
  double slices_per_s = 0;
  std::vector<reports::NodeUse> loops;
};
[[nodiscard]] Expected<LoopbackRun, std::string> run_loopback_farm(const LoopbackPoint& point, double seconds,
                                                                   const std::string& folder,
                                                                   bool tls = false);

// Runs one farm. Requires: `folder` exists. With `tls`: over TLS, with a new key.
[[nodiscard]] Expected<Rate, std::string> measure_farm(const LoopbackPoint& point, double seconds,
                                                       const std::string& folder, bool tls = false);
// Runs a reference program that takes --readouts, --collectors, --size, --seconds and prints one JSON line
// with fragments_per_s.
[[nodiscard]] Expected<Rate, std::string> measure_yardstick(const std::string& program,
                                                            const LoopbackPoint& point, double seconds);

// The farm and the ceiling, measured one after the other. Ratios are computed within a round, so that other
// load on the machine affects both.
struct Round {
  Rate farm;
  Rate ceiling;
  std::optional<Rate> yardstick;
  std::optional<Rate> tls;
};
[[nodiscard]] Line line_of(const LoopbackPoint& point, const Round& round);

// Measures each point round after round. Returns the exit status.
[[nodiscard]] int run_loopback(const LoopbackOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
