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

// One direction of a long line: frames wait in a buffer for their turn, take their time at the line's rate,
// and arrive a delay after that. Order is kept. Pure.
class DelayLine {
 public:
  // Frames on their way; what comes beyond is dropped like what does not fit the buffer.
  static constexpr std::size_t kBytesMax = std::size_t{1} << 28;

  explicit DelayLine(const Line& line) : line_(line) {}

  // False: it was dropped. `now_ns` never goes back.
  bool offer(TimeNs now_ns, ConstBytes frame);
  // When the next frame arrives, if one is on its way.
  [[nodiscard]] std::optional<TimeNs> due_ns() const;
  // The frame that has arrived by now, until pop(); null when there is none.
  [[nodiscard]] const std::vector<std::byte>* arrived(TimeNs now_ns) const;
  void pop();

  [[nodiscard]] std::uint64_t drops() const { return drops_; }

 private:
  struct Frame {
    TimeNs sent_ns = 0;  // its last bit has left the buffer
    TimeNs due_ns = 0;
    std::vector<std::byte> bytes;
  };
  void forget_sent(TimeNs now_ns);

  Line line_;
  std::deque<Frame> frames_;
  std::size_t bytes_ = 0;
  std::size_t unsent_ = 0;  // frames at the end of the queue that wait in the buffer still
  std::uint64_t waiting_bytes_ = 0;
  TimeNs free_ns_ = 0;  // the line has sent what it was given
  std::uint64_t drops_ = 0;
  std::vector<std::vector<std::byte>> spare_;
};

}  // namespace weir::lab
