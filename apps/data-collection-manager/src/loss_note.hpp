#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace weir::dcm {

// When a lost connection is logged, and as what. At a run's end the other side may be done before this
// process hears of the end. That is no loss, so logging waits until this process must have heard. Pure, but
// for log_if_due().
class LossNote {
 public:
  enum class Due : std::uint8_t { nothing, end_of_run, loss };

  void lost(std::string what, TimeNs now_ns) {
    what_ = std::move(what);
    since_ns_ = now_ns;
    pending_ = true;
  }
  // At least every few ms. `back`: it is connected again, so a loss that is not logged yet is due now. Each
  // loss is due once.
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

void log_if_due(LossNote& note, bool ending, bool back, TimeNs now_ns);

}  // namespace weir::dcm
