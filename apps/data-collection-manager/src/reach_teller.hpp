#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/frame.hpp>

#include <cstddef>
#include <vector>

namespace weir::dcm {

// What the supervisor was told of the nodes that this DCM reaches, and what the farm makes of it. Pure.
class ReachTeller {
 public:
  // `patience_ns`: at the begin what is not reached may be connecting.
  explicit ReachTeller(DurationNs patience_ns) : patience_ns_(patience_ns) {}

  // There is a supervisor that knows nothing of this process.
  void met(TimeNs now_ns);
  void run_begun(TimeNs now_ns) { since_ns_ = now_ns; }
  // Its next process judges anew.
  void lost() { cut_off_ = false; }

  // Whether it is to be told; then it has been.
  [[nodiscard]] bool is_news(const v1::Reach& reach, TimeNs now_ns);

  // The readouts whose fragments are missing, as a mark for each of so many; an error where it names others.
  [[nodiscard]] Expected<std::vector<bool>, wire::WireError> judged(const v1::ReachVerdict& verdict,
                                                                    std::size_t readouts);
  // Others reach what this DCM does not: it gives back what it cannot build.
  [[nodiscard]] bool is_cut_off() const { return cut_off_; }

 private:
  DurationNs patience_ns_;
  TimeNs since_ns_ = 0;
  v1::Reach told_;  // the last one
  bool has_told_ = false;
  bool cut_off_ = false;
};

}  // namespace weir::dcm
