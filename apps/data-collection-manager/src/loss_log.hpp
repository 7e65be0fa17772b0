#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace weir::dcm {

// Decides when, and as which event, a lost connection is logged. At the end of a run the peer may finish
// before this process receives the end. That is not a loss, so logging waits until this process must have
// received it. Pure, except for log_if_due().
class LossLog {
 public:
  enum class Due : std::uint8_t { nothing, end_of_run, loss };

  void lost(std::string what, TimeNs now_ns) {
    what_ = std::move(what);
    since_ns_ = now_ns;
    pending_ = true;
  }
  // Call at least every few ms. `back`: it has reconnected, so an unlogged loss is due now. Each loss is due
  // once.
  [[nodiscard]] Due look(bool ending, bool back, TimeNs now_ns) {
    if (!pending_ || (!ending && !back && now_ns - since_ns_ < kEndIsHeard)) return Due::nothing;
    pending_ = false;
    return ending ? Due::end_of_run : Due::loss;
  }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  static constexpr DurationNs kEndIsHeard = 500 * kMillisecond;

  std::string what_;
  TimeNs since_ns_ = 0;
  bool pending_ = false;
};

void log_if_due(LossLog& log, bool ending, bool back, TimeNs now_ns);

}  // namespace weir::dcm
