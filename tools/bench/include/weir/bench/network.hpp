#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/figure.hpp>
#include <weir/metrics/histogram.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace weir::run_record {
struct Summary;
}

// Whole farms in virtual networks, point by point: `weir bench incast` and `weir bench all-to-all`.
namespace weir::bench {

enum class Pattern : std::uint8_t {
  incast,     // many readouts, each on a host, to one DCM
  all_to_all  // hosts with a readout and some DCMs each, all to all, limited in both directions
};

// The varied parameters: every combination of the lists is a point.
struct NetworkOptions {
  Pattern pattern = Pattern::incast;
  std::vector<std::string> shapers{"byte-credits"};
  std::vector<std::uint64_t> window_bytes{72'000};  // for byte-credits and diatcp, of each DCM
  std::vector<std::uint32_t> window_fragments{4};   // for fragment-credits, of each DCM
  std::vector<std::uint32_t> window_segments{0};    // static congestion windows; 0: the kernel's own
  std::vector<std::string> congestion{"cubic"};
  std::vector<std::uint32_t> fragment_bytes{65'536};
  std::vector<std::uint32_t> fragments{1};  // of a slice, at each readout
  std::vector<std::uint32_t> readouts{8};
  std::vector<double> loads{0};  // trigger rate relative to theory; 0: as fast as possible

  std::uint32_t dcms_per_host = 2;  // all-to-all
  std::uint32_t credits = 16;       // slices that a DCM works on at a time
  double pace = 0.95;               // for paced: share of the port's theory
  std::string rate = "200mbit";
  std::string buffer = "100k";
  double seconds = 5;
  std::uint32_t rounds = 1;
  std::uint32_t trace = 0;  // slices of each point with recorded arrivals; one of them is reported
  Output output;            // no name: the pattern's
};

struct NetworkPoint {
  Pattern pattern = Pattern::incast;
  std::string shaper;
  std::uint64_t window_bytes = 0;      // 0: the shaper has no window in bytes
  std::uint32_t window_fragments = 0;  // 0: none in fragments
  std::uint32_t window_segments = 0;
  std::string congestion;
  std::uint32_t fragment_bytes = 0;
  std::uint32_t fragments = 1;
  std::uint32_t readouts = 1;
  std::uint32_t dcms = 1;
  double load = 0;
};

// Figures of a run in a lab: its network and its latencies, of the whole run and after the first second.
struct NetworkRun {
  Line line;                           // docs/benchmarks.md explains the keys
  double jitter_us = 0;                // p99 of how late frames left links with a delay
  bool inexact_delay = false;          // above 10 % of the delay
  metrics::ValueHistogram latency_us;  // after 1 s
};
// Errors: a run that ended within its first second.
[[nodiscard]] Expected<NetworkRun, std::string> network_run_of(const run_record::Summary& summary);

[[nodiscard]] std::vector<NetworkPoint> expand(const NetworkOptions& options);
[[nodiscard]] std::string describe(const NetworkPoint& point);
[[nodiscard]] std::string farm_text(const NetworkPoint& point, const NetworkOptions& options,
                                    double trigger_hz);
[[nodiscard]] std::string lab_text(const NetworkPoint& point, const NetworkOptions& options);
// Returns the line of a round. `latency_us`: of all rounds so far; `arrivals`: the trace of dcm-0, CSV.
[[nodiscard]] Line line_of(const NetworkPoint& point, const NetworkOptions& options, const NetworkRun& run,
                           const metrics::ValueHistogram& latency_us, const std::string& arrivals);
// A table with a row for each point, labelled by the settings that differ.
[[nodiscard]] std::string network_page(const Lines& lines, const NetworkOptions& options,
                                       const std::string& machine);

// Measures each point in labs of its own. Returns the exit status: 0, or 1 if a point failed.
[[nodiscard]] int run_network(const NetworkOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
