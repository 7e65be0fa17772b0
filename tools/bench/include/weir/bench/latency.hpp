#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/figure.hpp>
#include <weir/run_record/summary.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace weir::bench {

// A farm on loopback at a given rate of triggers, far from its limit or near to it; nothing is stored.
struct LatencyPoint {
  double rate_hz = 1000;
  std::uint32_t readouts = 4;
  std::uint32_t sources = 1;  // of each readout
  std::uint32_t fragment_bytes = 1024;
};

struct LatencyOptions {
  std::vector<double> rates_hz{100, 1000, 10'000, 50'000};
  std::uint32_t readouts = 4;
  std::uint32_t sources = 1;
  std::uint32_t fragment_bytes = 1024;
  std::uint32_t rounds = 3;
  double seconds = 3;  // of each farm
};

// Of all slices of a farm, from the first trigger to the end.
struct LatencyTimes {
  double slices_per_s = 0;
  run_record::Percentiles request_us;  // from the first request to the last fragment
  run_record::Percentiles build_us;    // from the assignment to the last fragment
  double cpu_us_per_slice = 0;         // of all processes
};
[[nodiscard]] Expected<LatencyTimes, std::string> measure_latency(const LatencyPoint& point, double seconds,
                                                                  const std::string& folder);
// `exchange_us`: the mean time of the bare exchange of one slice, one after the other.
[[nodiscard]] Line line_of(const LatencyPoint& point, const LatencyTimes& farm, double exchange_us);

// Measures each point round after round. Returns the exit status.
[[nodiscard]] int run_latency(const LatencyOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
