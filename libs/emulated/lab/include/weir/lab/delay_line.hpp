#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/time.hpp>
#include <weir/lab/plan.hpp>
#include <weir/metrics/histogram.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace weir::lab {

// One direction of a relayed link: frames wait in a buffer, are sent at the line's rate, and arrive after a
// delay. A rate of 0 only delays. Order is kept. Pure.
class DelayLine {
 public:
  // Limit for frames in flight; further ones are dropped like those that do not fit into the buffer.
  static constexpr std::size_t kBytesMax = std::size_t{1} << 28;

  explicit DelayLine(const RelayedLink& link, std::size_t bytes_max = kBytesMax)
      : link_(link), bytes_max_(bytes_max) {}

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

  RelayedLink link_;
  std::size_t bytes_max_;
  std::deque<Frame> frames_;
  std::size_t bytes_ = 0;
  std::size_t unsent_ = 0;  // frames at the end of the queue that are still in the buffer
  std::uint64_t waiting_bytes_ = 0;
  TimeNs free_ns_ = 0;  // when the line is free again
  std::uint64_t drops_ = 0;
  std::vector<std::vector<std::byte>> spare_;
};

// The usual time from a timer's end to the thread that waits for it, as a moving mean. A relay begins to wait
// for less by this time. Pure.
class WakingTime {
 public:
  static constexpr DurationNs kMost = 100 * kMicrosecond;

  // `shortest_ns`: the shortest delay, of which at most a quarter is taken off.
  explicit WakingTime(DurationNs shortest_ns) : most_(std::min(kMost, shortest_ns / 4)) {}

  // Adds the time by which the thread came after the moment that it waited for.
  void add(DurationNs late_ns) { mean_ += (std::clamp<DurationNs>(late_ns, 0, most_) - mean_) / kEvents; }
  [[nodiscard]] DurationNs ns() const { return mean_; }

 private:
  static constexpr DurationNs kEvents = 16;

  DurationNs most_;
  DurationNs mean_ = 0;
};

// Both directions of all relayed links: frames leave when they are due, whatever their link, and the time
// that a frame leaves late is recorded. Pure. The cost of a frame grows with the logarithm of the number of
// links.
class LinkDelays {
 public:
  // The direction of link i is 2 * i towards its `to`, and 2 * i + 1 back.
  explicit LinkDelays(const std::vector<RelayedLink>& links);

  // Returns false if the frame was dropped. Requires: `now_ns` never decreases.
  bool offer(std::size_t direction, TimeNs now_ns, ConstBytes frame);
  // Returns when the next frame has to leave, if one is in flight.
  [[nodiscard]] std::optional<TimeNs> due_ns() const;
  struct Due {
    std::size_t direction = 0;
    const std::vector<std::byte>* frame = nullptr;
  };
  // Returns the frame that has to leave by now, until pop().
  [[nodiscard]] std::optional<Due> due(TimeNs now_ns) const;
  // Removes the frame of due(). Requires: it left at `left_ns`.
  void pop(TimeNs left_ns);

  // Returns the microseconds by which frames left late.
  [[nodiscard]] const metrics::ValueHistogram& lateness_us() const { return lateness_us_; }
  [[nodiscard]] std::uint64_t drops(std::size_t direction) const { return lines_[direction].drops(); }

 private:
  using Next = std::pair<TimeNs, std::size_t>;  // a direction, and when its first frame is due

  std::vector<DelayLine> lines_;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;  // of directions with frames
  metrics::ValueHistogram lateness_us_;
};

}  // namespace weir::lab
