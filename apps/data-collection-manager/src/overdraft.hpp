#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::dcm {

// Allows requests beyond a full window without progress. Otherwise a deadlock is possible: a window full of
// requests for slices that readouts cannot make yet, because their buffers are full of slices that wait for
// the window. Pure.
class Overdraft {
 public:
  // Call before a round of requests. `may_begin`: only arrivals refill the window, and something is
  // outstanding.
  void begin_round(bool may_begin, TimeNs now_ns);
  // The window had room for a request; `outstanding`: before it.
  void granted(std::uint64_t outstanding);
  // Returns true if the request that the window refused is sent nevertheless.
  [[nodiscard]] bool allows(std::uint64_t outstanding);
  // A request was sent, or bytes arrived.
  void note_progress(TimeNs now_ns) { moved_ns_ = now_ns; }

  [[nodiscard]] TimeNs moved_ns() const { return moved_ns_; }
  // Returns how many requests were sent beyond the window.
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  TimeNs moved_ns_ = 0;
  bool stands_still_ = false;
  std::uint64_t stuck_ = 0;  // outstanding at the last standstill
  std::uint64_t limit_ = 0;  // requests that may exceed the window after it; 0: it has had room since
  std::uint64_t left_ = 0;   // of them, not sent yet
  std::uint64_t count_ = 0;
};

}  // namespace weir::dcm
