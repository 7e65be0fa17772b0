#pragma once

#include <cstdint>

namespace weir::shaping {

// Growth of the window until it is full for the first time: while the rate grows with it and no queue exists.
// On a long line the window follows the received bytes. Pure.
class StartUp {
 public:
  struct Seen {
    double rate = 0;        // of the epoch, bytes per ns
    bool on_line = false;   // more bytes in flight than the answers' own length
    double line_bytes = 0;  // rate x shortest response
    bool queues = false;    // a queue exists
  };
  enum class Move : std::uint8_t {
    stay,
    grow,    // a long step
    shrink,  // the last step was too large
    follow   // at least `least`
  };
  struct Step {
    Move move = Move::stay;
    bool over = false;
    double least = 0;  // bytes
  };
  // To be called after each epoch, until the returned step is `over`.
  [[nodiscard]] Step epoch(const Seen& seen);
  // Returns whether the line's rate grows with the window: the window may follow the received bytes.
  [[nodiscard]] bool line_grows() const { return line_grows_; }

 private:
  [[nodiscard]] Step on_line(const Seen& seen, double best);

  double best_rate_ = 0;
  std::uint32_t vain_ = 0;  // consecutive epochs without a higher rate
  bool line_grows_ = true;
};

}  // namespace weir::shaping
