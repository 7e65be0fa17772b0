#pragma once

#include <cstdint>

namespace weir::shaping {

// How a window grows until it is full for the first time: for as long as the rate grows with it, and no queue
// stands. On a long line it follows what the line has brought. Pure.
class StartUp {
 public:
  struct Seen {
    double rate = 0;        // of the epoch, bytes per ns
    bool on_line = false;   // more is under way than answers' own length
    bool far = false;       // ... and it is a long one
    double line_bytes = 0;  // rate x shortest response
    bool queues = false;    // a queue stands
  };
  static constexpr double kFactor = 1.25;
  enum class Move : std::uint8_t {
    stay,
    grow,    // the window becomes kFactor times as large
    shrink,  // the last one was too much
    follow   // no smaller than `least`
  };
  struct Step {
    Move move = Move::stay;
    bool over = false;
    double least = 0;  // bytes
  };
  // After each epoch, until one is over.
  [[nodiscard]] Step epoch(const Seen& seen);
  // The line's rate grows with the window: it may follow what arrives.
  [[nodiscard]] bool line_grows() const { return line_grows_; }

 private:
  [[nodiscard]] Step on_line(const Seen& seen, double best);

  double best_rate_ = 0;
  int vain_ = 0;  // epochs in a row without a higher rate
  bool line_grows_ = true;
};

}  // namespace weir::shaping
