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

// What a run did once its start was over.
struct SteadyFigures {
  double seconds = 0;  // the longest time over which a DCM was seen
  double goodput_bytes_per_s = 0;
  double slices_per_s = 0;  // built
  metrics::Histogram latency_us;
  metrics::Histogram build_latency_us;
  std::uint64_t retransmits = 0;
  double dcm_share_min =
      0;  // the least goodput of a DCM, over an equal part of all; 1: as much as the others
  double dcm_share_max = 0;
};

// A run between its first second and its end, from the reports that its nodes make anyway: of each process
// life the difference between the first report made 1 s or more after the run's begin and the last one that
// the supervisor had while triggers went on, over the time between the two by the node's own clock; for a DCM
// that was away for more than two of its reports, over the longest time of a DCM. Pure.
class SteadyPart {
 public:
  // Every status. `now_ns`: when it came, on the clock that the nodes of this machine share.
  void take(const v1::FarmStatus& status, TimeNs now_ns);
  // Nothing when some DCM has not reported twice: the run was too short for supervisor.status_interval_ms.
  [[nodiscard]] std::optional<SteadyFigures> figures() const;

 private:
  struct Life {
    v1::Report first;
    v1::Report last;
    std::uint64_t intervals = 0;  // between different reports
  };
  std::optional<TimeNs> from_ns_;
  std::map<std::pair<std::string, std::uint64_t>, Life> lives_;  // by name and incarnation
};

constexpr DurationNs kStartUp = kSecond;

}  // namespace weir::run_record
