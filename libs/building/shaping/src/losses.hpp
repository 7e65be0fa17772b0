#pragma once

#include "tuning.hpp"
#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::shaping {

// Decides whether more segments were lost recently than a smaller window would cost. An overflowing port
// loses many; a line that damages one in ten thousand does not, and a smaller window would not help there.
// Pure.
class Losses {
 public:
  // This many segments were retransmitted. `came`: segments that arrive within `within_ns`, over which losses
  // are added up. Returns true if they are too many.
  [[nodiscard]] bool note(double segments, double came, DurationNs within_ns, TimeNs now_ns);
  // A smaller window had a lower rate than the losses cost: for a while only many losses count, each time for
  // twice as long.
  void tolerate(TimeNs now_ns);
  // A connection stalled until TCP's timeout: such losses are never tolerated.
  void tolerate_no_more() { tolerated_until_ns_ = 0; }

 private:
  double segments_ = 0;
  TimeNs since_ns_ = 0;
  DurationNs tolerated_ns_ = tuning::kFew * kSecond / 2;  // last duration
  TimeNs tolerated_until_ns_ = 0;
};

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
  // after `least_ns` of such time.
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
