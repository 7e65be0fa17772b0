#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::shaping {

// Whether a loss was worth its window: after it the window is smaller, and what comes then is compared with
// what came before. What TCP repairs within a round trip costs less than a window that is too small for busy
// hosts or a fast line (ADR 0025). Pure.
class LossTrial {
 public:
  // The window was so large, and brought so much (bytes per ns). What comes before from_ns was asked for with
  // it.
  void begin(double window, double rate, TimeNs from_ns);
  void stop() { running_ = false; }
  [[nodiscard]] bool running() const { return running_; }
  // Came while the smaller window was the limit. True: it is decided, after `least_ns` of that. One that is
  // not in good time is given up.
  [[nodiscard]] bool note(std::uint64_t bytes, DurationNs limited_ns, DurationNs least_ns, TimeNs now_ns);
  // After note(): the smaller window brought clearly less.
  [[nodiscard]] bool worth() const;
  [[nodiscard]] double window() const { return window_; }

 private:
  bool running_ = false;
  double window_ = 0;
  double rate_ = 0;
  TimeNs from_ns_ = 0;
  DurationNs limited_ns_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace weir::shaping
