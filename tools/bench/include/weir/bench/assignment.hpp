#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/bench/figure.hpp>
#include <weir/metrics/histogram.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// `weir bench assignment`: the supervisor's policies with destinations of different speed, in an event
// simulation on the real supervisor's machine and policies.
namespace weir::bench {

// The case of the RCNP paper ("ATLAS sequential option emulation"): 5 workstations and 6 servers, each
// decision 10 ms of processing besides the collection of 4 kB, at most 2 kHz in all, measured at 1 kHz: 75 ms
// with credits alone, with a peak at 200 ms, and 14 ms with a schedule table that has the servers twice as
// often. Servers there have 12 or 4 processors (section II); how many were used, what collection and
// formatting cost, the number of credits and the spread of the times are not given. Chosen to reproduce its
// figures: 11.4 ms a slice, 4 ms of them always and 7.4 ms exponentially distributed; 1 processor to a
// workstation and 3 to a server, so at most 5 / 11.4 ms + 18 / 11.4 ms = 2.02 kHz; 17 credits, so 17 x 11.4
// ms = 194 ms in a full workstation. Triggers are Poisson.
struct Destination {
  std::string name;
  std::uint32_t processors = 1;
  std::uint32_t weight = 1;  // in the schedule table
};

// A destination that takes `factor` times as long for a while.
struct Slowdown {
  std::size_t destination = 0;
  TimeNs from = 0;
  TimeNs until = 0;
  double factor = 1;
};

struct AssignmentCase {
  std::vector<Destination> destinations;
  DurationNs fixed_ns = 4'000 * kMicrosecond;   // per slice on one processor,
  DurationNs random_ns = 7'400 * kMicrosecond;  // plus an exponentially distributed part with this mean
  std::uint32_t credits = 17;                   // of each destination
  std::string policy = "credits";
  double load = 0.5;  // share of the capacity of all processors
  std::uint64_t seed = 1;
  DurationNs warm_up_ns = 10 * kSecond;  // queues of credits that are nearly stable fill slowly: not measured
  DurationNs seconds_ns = 100 * kSecond;
  std::vector<Slowdown> slowdowns;
};
[[nodiscard]] AssignmentCase rcnp_case();
// Slices per second that all processors of the case together can do.
[[nodiscard]] double capacity_hz(const AssignmentCase& one);

struct AssignmentResult {
  AssignmentCase settings;
  std::uint64_t decided = 0;
  std::uint64_t vetoed = 0;
  metrics::ValueHistogram latency_us;  // trigger to decision
  double mean_ms = 0;
  std::vector<double> shares;  // share of slices, by destination
  // Mean in each tenth of the measured time, ms: shows the effect of a slowdown.
  std::vector<double> tenths_ms;
};
// Pure: a function of the case. The failure is a sentence (an unknown policy).
[[nodiscard]] Expected<AssignmentResult, std::string> simulate(const AssignmentCase& one);

struct AssignmentOptions {
  std::vector<std::string> policies = {"static", "credits", "schedule-table", "least-loaded", "learning"};
  std::vector<double> loads = {0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95};
  double seconds = 100;  // simulated, for each point
  std::uint32_t credits = 17;
  std::uint64_t seed = 1;
  Output output{.name = "assignment"};
};
[[nodiscard]] Line line_of(const AssignmentResult& result);
int run_assignment(const AssignmentOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
