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
  all_to_all  // hosts with a readout and some DCMs each, everybody to everybody, limited both ways
};

// What is varied: every combination of the lists is a point.
struct NetworkOptions {
  Pattern pattern = Pattern::incast;
  std::vector<std::string> shapers{"byte-credits"};
  std::vector<std::uint64_t> window_bytes{72'000};  // of byte-credits and diatcp, of each DCM
  std::vector<std::uint32_t> window_fragments{4};   // of fragment-credits, of each DCM
  std::vector<std::uint32_t> window_segments{0};    // static congestion windows; 0: the kernel's own
  std::vector<std::string> congestion{"cubic"};
  std::vector<std::uint32_t> fragment_bytes{65'536};
  std::vector<std::uint32_t> fragments{1};  // of a slice, at each readout
  std::vector<std::uint32_t> readouts{8};
  std::vector<double> loads{0};  // slices are triggered at so much of theory; 0: as fast as they go

  std::uint32_t dcms_per_host = 2;  // all-to-all
  std::uint32_t credits = 16;       // slices that a DCM works on at a time
  double pace = 0.95;               // of paced: share of the port's theory
  std::string rate = "200mbit";
  std::string buffer = "100k";
  double seconds = 5;
  std::uint32_t rounds = 1;
  std::uint32_t trace = 0;  // slices of each point whose arrivals are recorded; one of them is told
  std::string out;          // folder for the table and the lines; empty: none
  std::string name;         // their first word; empty: the bench's
  std::string command;      // as it was typed, for the table
};

struct NetworkPoint {
  Pattern pattern = Pattern::incast;
  std::string shaper;
  std::uint64_t window_bytes = 0;      // 0: the shaper has none in bytes
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
  double cpu_s_per_s = 0;          // of the farm's processes
  double machine_cpu_s_per_s = 0;  // of everything on this machine: as many as cores is all there is
  metrics::Histogram latency_us;   // after 1 s
  std::string arrivals;            // the trace of dcm-0, CSV
};

// A point with all its rounds. Figures are medians over the rounds, each on its own; the histogram is that of
// all rounds, the trace that of the last.
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

// One farm run in a lab of its own, with files in `folder`, which exists. The error is a sentence.
[[nodiscard]] Expected<NetworkRun, std::string> measure(const NetworkPoint& point,
                                                        const NetworkOptions& options,
                                                        const std::string& folder);

[[nodiscard]] Expected<NetworkResult, std::string> measure_rounds(const NetworkPoint& point,
                                                                  const NetworkOptions& options,
                                                                  const std::string& folder);

// The whole benchmark: a JSON line per point into `out`, a sentence per point into `err`, and what `out` of
// the options asks for. A point that fails is left out. Returns the exit status: 0, or 1 when one failed.
[[nodiscard]] int run_network(const NetworkOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
