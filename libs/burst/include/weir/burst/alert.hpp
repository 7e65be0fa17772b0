#pragma once

#include <weir/base/hash.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>

namespace weir::burst {

// Windows begin and end at multiples of this, so that counts by time agree exactly between processes.
constexpr DurationNs kQuantum = 10 * kMillisecond;
constexpr std::size_t kOpenAlertsMax = 16;  // being saved at a time
constexpr std::size_t kAlertsMax = 1000;    // in a run
constexpr std::size_t kTimesMax = 65'536;   // quanta with slices, for which counts are kept

[[nodiscard]] constexpr std::int64_t quantum_of(UtcNs time) {
  return time / kQuantum - (time % kQuantum < 0 ? 1 : 0);
}

// Slices with a trigger time in [from, until) are to be saved. Both ends are multiples of kQuantum.
struct Alert {
  std::uint32_t number = 0;  // from 1, in the run
  UtcNs from = 0;
  UtcNs until = 0;
  [[nodiscard]] bool contains(UtcNs time) const { return from <= time && time < until; }
  bool operator==(const Alert&) const = default;
};

// An alert's slices in one ring, by their fate.
struct Account {
  SliceSum saved;    // acknowledged by a writer
  SliceSum too_old;  // overwritten before the alert came
  SliceSum no_room;  // the limit of frozen bytes was reached, or the slice never found room in the ring
  SliceSum refused;  // no writer takes the record
  SliceSum waiting;  // frozen, and not acknowledged yet

  [[nodiscard]] SliceSum all() const {
    SliceSum sum = saved;
    sum += too_old;
    sum += no_room;
    sum += refused;
    sum += waiting;
    return sum;
  }
};

}  // namespace weir::burst
