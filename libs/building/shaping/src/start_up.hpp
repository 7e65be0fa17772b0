#pragma once

#include <cstdint>

namespace weir::shaping {

// Growth of the window until it is full for the first time: while the rate grows with it and no queue exists.
// On a long line the window follows the received bytes. Pure.
class StartUp {
 public:
  struct Seen {
    double window = 0;      // bytes
    double rate = 0;        // of the epoch, bytes per ns
    bool on_line = false;   // more bytes in flight than the answers' own length
    double line_bytes = 0;  // rate x shortest response
    bool queues = false;    // a queue exists
  };
  // Returns the next window. To be called after each epoch, until the start is over.
  [[nodiscard]] double epoch(const Seen& seen);
  [[nodiscard]] bool over() const { return over_; }
  // Returns whether the line's rate grows with the window: the window may follow the received bytes.
  [[nodiscard]] bool line_grows() const { return line_grows_; }

 private:
  double best_rate_ = 0;
  std::uint32_t vain_ = 0;  // consecutive epochs without a higher rate
  bool line_grows_ = true;
  bool over_ = false;
};

}  // namespace weir::shaping
