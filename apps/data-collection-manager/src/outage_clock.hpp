#pragma once

#include <weir/base/time.hpp>

namespace weir::dcm {

// Holds back the deadlines of a DCM while its line to the readouts may be down; a longer silence was an
// outage. TCP may wait as long as an outage lasted before it repeats a request, so no step ends for that
// time; then the steps begin their time anew. Pure.
class OutageClock {
 public:
  // `silence_ns`: a longer silence was an outage; 0: all deadlines are due in time.
  explicit OutageClock(DurationNs silence_ns) : silence_ns_(silence_ns) {}

  [[nodiscard]] bool is_on() const { return silence_ns_ > 0; }
  struct Due {
    TimeNs until = 0;         // deadlines up to this time are due
    bool begin_anew = false;  // after an outage: the steps under way have their whole time again
  };
  // `heard_ns`: when all readouts were heard, at the latest.
  [[nodiscard]] Due due(TimeNs heard_ns, TimeNs now_ns);

 private:
  DurationNs silence_ns_;
  TimeNs heard_ns_ = 0;
  TimeNs recovers_until_ = 0;
};

}  // namespace weir::dcm
