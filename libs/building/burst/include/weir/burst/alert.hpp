#pragma once

#include <weir/base/hash.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

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
  SliceSum saved;        // acknowledged by a writer
  SliceSum too_old;      // overwritten before the alert came
  SliceSum no_room;      // the limit of frozen bytes was reached, or the slice never found room in the ring
  SliceSum disk_slow;    // overwritten in memory before the ring's disk had taken it
  SliceSum disk_failed;  // the ring's disk did not take it, or did not return what it took
  SliceSum refused;      // no writer takes the record
  SliceSum waiting;      // frozen, and not acknowledged yet

  Account& operator+=(const Account& more) {
    saved += more.saved;
    too_old += more.too_old;
    no_room += more.no_room;
    disk_slow += more.disk_slow;
    disk_failed += more.disk_failed;
    refused += more.refused;
    waiting += more.waiting;
    return *this;
  }
  [[nodiscard]] SliceSum all() const {
    SliceSum sum = saved;
    for (const SliceSum& more : {too_old, no_room, disk_slow, disk_failed, refused, waiting}) sum += more;
    return sum;
  }
  bool operator==(const Account&) const = default;
};

}  // namespace weir::burst
