#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::storage {

// Measures how long a disk with pending data has made no progress: a stalled disk returns no error, but
// operators need the cause of the hold-up. Pure.
class DiskWatch {
 public:
  static constexpr DurationNs kStallAfter = kSecond;  // shorter pauses are normal

  // `waiting`: some bytes are not on disk yet. `done`: bytes on disk so far.
  void look(bool waiting, std::uint64_t done, TimeNs now) {
    if (!waiting || done != done_) since_ = now;
    done_ = done;
    now_ = now;
  }
  // Returns 0 if the disk does not stall.
  [[nodiscard]] DurationNs stalled() const { return now_ - since_ >= kStallAfter ? now_ - since_ : 0; }

 private:
  std::uint64_t done_ = 0;
  TimeNs since_ = 0;
  TimeNs now_ = 0;
};

}  // namespace weir::storage
