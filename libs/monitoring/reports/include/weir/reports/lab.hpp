#pragma once

#include <weir/base/time.hpp>
#include <weir/metrics/histogram.hpp>

#include <cstdint>
#include <map>
#include <string>

// Rows of a run's summary about the lab in which it took place.
namespace weir::reports {

// A port over a run; docs/summary.md explains each number.
struct PortReport {
  std::string name;
  std::uint64_t rate_bits_per_s = 0;
  std::uint64_t buffer_bytes = 0;
  std::uint64_t bytes = 0;  // on the wire
  std::uint64_t packets = 0;
  std::uint64_t drops = 0;
  std::uint64_t drops_after_1s = 0;
  double last_drop_s = 0;    // after the port's begin; 0: no drops
  double use = 0;            // share of the rate, over the given time
  double busiest_use = 0;    // in the busiest second or so
  std::uint64_t pauses = 0;  // with back-pressure: times that the port was held back
  double paused_s = 0;
};

// Counts of a relay, for the summary.
struct RelayReport {
  std::uint64_t links = 0;     // with back-pressure: of hosts
  std::uint64_t switches = 0;  // with back-pressure
  DurationNs delay_ns = 0;     // the shortest one of a link
  std::uint64_t frames = 0;
  std::uint64_t dropped = 0;      // on links with a delay: a full queue; the line's drops are at its ports
  std::uint64_t late_p50_us = 0;  // how much later than due a frame left
  std::uint64_t late_p99_us = 0;  // the jitter
  std::uint64_t late_max_us = 0;
  bool is_software = false;                    // software switches, which have no lateness
  std::uint64_t marked = 0;                    // frames with a mark of theirs
  std::map<std::string, std::uint64_t> drops;  // of theirs, by reason

  // Above this share of the delay, the jitter makes delays unlike those of the lab file.
  static constexpr double kJitterMost = 0.1;
  [[nodiscard]] bool is_inexact() const {
    const auto jitter_ns = static_cast<double>(late_p99_us * kMicrosecond);
    return delay_ns > 0 && jitter_ns > kJitterMost * static_cast<double>(delay_ns);
  }
  // Takes the microseconds by which frames left late.
  void set_lateness(const metrics::ValueHistogram& late_us);
};

struct ForeignReport {
  std::string from;
  std::string to;
  std::uint64_t rate_bits_per_s = 0;  // requested; 0: unlimited
  std::uint64_t bytes = 0;            // received
  double seconds = 0;                 // of sending
};

// Disturbances of a host on purpose; docs/summary.md explains each.
struct DisturbedHost {
  std::string name;
  std::uint64_t pauses = 0;
  double paused_s = 0;
  double cpu_share = 0;
  std::string cpu_share_by;  // "cgroup", "pauses"; empty: unlimited
  double held_s = 0;
  double loss = 0;
  double bit_errors = 0;
  std::uint64_t frames_lost = 0;
};

struct AppliedChange {
  std::string port;
  double at_s = 0;
  std::uint64_t rate_bits_per_s = 0;
  std::uint64_t buffer_bytes = 0;
  std::string failure;  // why it failed; empty: it did not
};

// A time in which the long line, or a part of a plane, was down.
struct AppliedOutage {
  double at_s = 0;
  double for_s = 0;
  std::string failure;    // why it failed; empty: it did not
  std::string what = {};  // "plane 2", "leaf1>spine1 of plane 2"; empty: the long line
};

}  // namespace weir::reports
