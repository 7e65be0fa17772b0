#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::storage {

// How long a disk that has something to do has done nothing: a disk that stalls gives no error, and people
// ask what holds the run up. Pure.
class DiskWatch {
 public:
  static constexpr DurationNs kStallAfter = kSecond;  // shorter pauses are a disk's everyday life

  // `waiting`: bytes are not on disk yet. `done`: bytes that are, so far.
  void look(bool waiting, std::uint64_t done, TimeNs now) {
    if (!waiting || done != done_) since_ = now;
    done_ = done;
    now_ = now;
  }
  // 0: it does not stall.
  [[nodiscard]] DurationNs stalled() const { return now_ - since_ >= kStallAfter ? now_ - since_ : 0; }

 private:
  std::uint64_t done_ = 0;
  TimeNs since_ = 0;
  TimeNs now_ = 0;
};

}  // namespace weir::storage
