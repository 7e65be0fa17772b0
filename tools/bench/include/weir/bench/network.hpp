#pragma once

#include <weir/base/expected.hpp>
#include <weir/metrics/histogram.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

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
  std::string out;          // folder for the table and the lines; empty: none
  std::string name;         // prefix of their names; empty: the bench's
  std::string command;      // as it was typed, for the table
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

// A run, or a part of one.
struct NetworkPart {
  double goodput_bytes_per_s = 0;
  double share_of_theory = 0;
  double slices_per_s = 0;
  double p50_us = 0;  // first request to last fragment
  double p90_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double max_us = 0;
  double retransmits_per_s = 0;
  double port_drops = 0;
};

struct NetworkRun {
  NetworkPart whole;
  NetworkPart after_1s;
  double theory_bytes_per_s = 0;
  double serialisation_us = 0;
  double dcm_share_min = 0;
  double dcm_share_max = 0;
  double machine_drops = 0;
  double jitter_us = 0;                // p99 of how late frames left links with a delay
  double inexact_delay = 0;            // 1: above 10 % of the delay
  double cpu_s_per_s = 0;              // of the farm's processes
  double machine_cpu_s_per_s = 0;      // of all processes on this machine: limited by its cores
  metrics::ValueHistogram latency_us;  // after 1 s
  std::string arrivals;                // the trace of dcm-0, CSV
};

// A point with all its rounds. Each figure is the median over the rounds; the histogram is the sum over all
// rounds, the trace that of the last.
struct NetworkResult {
  NetworkPoint point;
  std::vector<NetworkRun> runs;

  [[nodiscard]] NetworkRun medians() const;
};

[[nodiscard]] std::vector<NetworkPoint> expand(const NetworkOptions& options);
[[nodiscard]] std::string describe(const NetworkPoint& point);
[[nodiscard]] std::string farm_text(const NetworkPoint& point, const NetworkOptions& options,
                                    double trigger_hz);
[[nodiscard]] std::string lab_text(const NetworkPoint& point, const NetworkOptions& options);
[[nodiscard]] std::string to_json_line(const NetworkResult& result, const NetworkOptions& options);
// A line for each point of a sweep, in Markdown.
[[nodiscard]] std::string table_of(const std::vector<NetworkResult>& results, const NetworkOptions& options,
                                   const std::string& machine);

// Runs one farm in a separate lab. Requires: `folder` exists. Errors are messages.
[[nodiscard]] Expected<NetworkRun, std::string> measure(const NetworkPoint& point,
                                                        const NetworkOptions& options,
                                                        const std::string& folder);

[[nodiscard]] Expected<NetworkResult, std::string> measure_rounds(const NetworkPoint& point,
                                                                  const NetworkOptions& options,
                                                                  const std::string& folder);

// Runs the whole benchmark: a JSON line per point to `out`, a sentence per point to `err`, and the output
// requested in the options. A failed point is skipped. Returns the exit status: 0, or 1 if one failed.
[[nodiscard]] int run_network(const NetworkOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
