#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/time.hpp>
#include <weir/lab/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace weir::lab {

// One direction of a long line: frames wait in a buffer, are sent at the line's rate, and arrive after a
// delay. Order is kept. Pure.
class DelayLine {
 public:
  // Limit for frames in flight; further ones are dropped like those that do not fit into the buffer.
  static constexpr std::size_t kBytesMax = std::size_t{1} << 28;

  explicit DelayLine(const LongLine& line) : line_(line) {}

  // Returns false if the frame was dropped. Requires: `now_ns` never decreases.
  bool offer(TimeNs now_ns, ConstBytes frame);
  // Returns the arrival time of the next frame, if one is in flight.
  [[nodiscard]] std::optional<TimeNs> due_ns() const;
  // Returns the frame that has arrived by now, until pop(); null if none has.
  [[nodiscard]] const std::vector<std::byte>* arrived(TimeNs now_ns) const;
  void pop();

  [[nodiscard]] std::uint64_t drops() const { return drops_; }

 private:
  struct Frame {
    TimeNs sent_ns = 0;  // when its last bit leaves the buffer
    TimeNs due_ns = 0;
    std::vector<std::byte> bytes;
  };
  void forget_sent(TimeNs now_ns);

  LongLine line_;
  std::deque<Frame> frames_;
  std::size_t bytes_ = 0;
  std::size_t unsent_ = 0;  // frames at the end of the queue that are still in the buffer
  std::uint64_t waiting_bytes_ = 0;
  TimeNs free_ns_ = 0;  // when the line is free again
  std::uint64_t drops_ = 0;
  std::vector<std::vector<std::byte>> spare_;
};

}  // namespace weir::lab
