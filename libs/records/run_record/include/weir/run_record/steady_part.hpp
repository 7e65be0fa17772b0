#pragma once

#include <weir/base/time.hpp>
#include <weir/metrics/histogram.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace weir::run_record {

// A run's results without its start.
struct SteadyFigures {
  double seconds = 0;  // the longest time over which a DCM was observed
  double goodput_bytes_per_s = 0;
  double slices_per_s = 0;  // built
  metrics::ValueHistogram latency_us;
  metrics::ValueHistogram build_latency_us;
  std::uint64_t retransmits = 0;
  double dcm_share_min = 0;  // the lowest goodput of a DCM relative to an equal share; 1: all equal
  double dcm_share_max = 0;
};

constexpr DurationNs kStartUp = kSecond;

// A run between its first second (or another settling time) and its end, from its nodes' normal reports. For
// each process it takes the difference between the first report made after that time and the last one that
// the supervisor had while triggers continued, over the time between the two by the node's own clock. For a
// DCM that was absent for more than two report intervals, it takes the longest time of any DCM. Pure.
class SteadyPart {
 public:
  explicit SteadyPart(DurationNs settling_ns = kStartUp) : settling_ns_(settling_ns) {}
  // Takes every status. `now_ns`: when it arrived, on the clock shared by this machine's nodes.
  void take(const v1::FarmStatus& status, TimeNs now_ns);
  // Returns nothing if a DCM has not reported twice: the run was too short for supervisor.status_interval_ms.
  [[nodiscard]] std::optional<SteadyFigures> figures() const;

 private:
  struct Life {
    v1::Report first;
    v1::Report last;
    std::uint64_t intervals = 0;  // between different reports
  };
  DurationNs settling_ns_;
  std::optional<TimeNs> from_ns_;
  std::map<std::pair<std::string, std::uint64_t>, Life> lives_;  // by name and incarnation
};

}  // namespace weir::run_record
