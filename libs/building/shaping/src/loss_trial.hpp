#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::shaping {

// Decides whether a loss was worth its window: the rate with the window reduced after the loss is compared
// with the rate before. A loss that TCP repairs within a round trip costs less than a window that is too
// small for busy hosts or a fast line (ADR 0025). Pure.
class LossTrial {
 public:
  // Begins a trial with the window and rate (bytes per ns) before the loss. Data that arrive before from_ns
  // were requested with that window.
  void begin(double window, double rate, TimeNs from_ns);
  void stop() { running_ = false; }
  [[nodiscard]] bool running() const { return running_; }
  // Takes data that arrived while the smaller window was the limit. Returns true once the trial is decided,
  // after `least_ns` of such time. A trial that takes too long is given up.
  [[nodiscard]] bool note(std::uint64_t bytes, DurationNs limited_ns, DurationNs least_ns, TimeNs now_ns);
  // Returns whether the smaller window had a clearly lower rate. Requires: note() returned true.
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
