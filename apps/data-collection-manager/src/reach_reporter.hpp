#pragma once

#include <weir/base/time.hpp>
#include <weir/v1/control.pb.h>

namespace weir::dcm {

// Remembers the last report to the supervisor about unreachable nodes, and the farm's verdict. Pure.
class ReachReporter {
 public:
  // `patience_ns`: initial time in which unreached nodes may still be connecting.
  explicit ReachReporter(DurationNs patience_ns) : patience_ns_(patience_ns) {}

  // A supervisor without knowledge of this process has connected.
  void met(TimeNs now_ns);
  void run_begun(TimeNs now_ns) { since_ns_ = now_ns; }
  // Its next process judges anew.
  void lost() { cut_off_ = false; }

  // Returns true if `reach` differs from the last report, and remembers it as reported.
  [[nodiscard]] bool is_news(const v1::Reach& reach, TimeNs now_ns);

  // Takes the farm's verdict.
  void judge(bool cut_off);
  // True if other DCMs reach readouts that this one cannot: it returns slices that it cannot build.
  [[nodiscard]] bool is_cut_off() const { return cut_off_; }

 private:
  DurationNs patience_ns_;
  TimeNs since_ns_ = 0;
  v1::Reach told_;  // the last one
  bool has_told_ = false;
  bool cut_off_ = false;
};

}  // namespace weir::dcm
