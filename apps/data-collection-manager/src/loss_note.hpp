#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace weir::dcm {

// When a lost connection is told of, and how. At a run's end the other side may be done before this process
// hears of the end: that is no loss, so telling waits until that must have been heard. Pure, but for say().
class LossNote {
 public:
  enum class Say : std::uint8_t { nothing, in_order, loss };

  void lost(std::string what, TimeNs now_ns) {
    what_ = std::move(what);
    since_ns_ = now_ns;
    untold_ = true;
  }
  // At least every few ms. `back`: it is connected again, so what is untold is told now. Each loss is told
  // once.
  [[nodiscard]] Say look(bool ending, bool back, TimeNs now_ns) {
    if (!untold_ || (!ending && !back && now_ns - since_ns_ < kEndIsHeard)) return Say::nothing;
    untold_ = false;
    return ending ? Say::in_order : Say::loss;
  }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  static constexpr DurationNs kEndIsHeard = 500 * kMillisecond;

  std::string what_;
  TimeNs since_ns_ = 0;
  bool untold_ = false;
};

// Puts what is due into the log.
void say(LossNote& note, bool ending, bool back, TimeNs now_ns);

}  // namespace weir::dcm
