#pragma once

#include "tuning.hpp"
#include <weir/base/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weir::shaping {

// The time of an answer without queues of others: the shortest recent response time, and the additional time
// per byte that the same readout owes, because its uplink sends one answer after another. Both are measured
// in drains, when almost nothing else is in flight. The minimum over several drains is used, because not
// every drain empties a queue that others hold. Pure.
class ShortestTimes {
 public:
  ShortestTimes() { slopes_.fill(kNone); }
  // A response took `time_ns` in the network while its readout owed `owed` bytes, its own included.
  void note(DurationNs time_ns, std::uint64_t owed);
  // The same in a drain that requests pairs, from a readout that is not farther than others: a longer line's
  // time is not the pace of an uplink.
  void note_of_pair(DurationNs time_ns, std::uint64_t owed);
  void end_drain();

  [[nodiscard]] DurationNs ns() const {
    return least_.time_ns < kUnknown ? least_.time_ns : 0;
  }  // 0: unknown
  [[nodiscard]] std::uint64_t owed() const { return least_.owed; }
  // Returns whether a pair was seen since the last drain.
  [[nodiscard]] bool saw_pair() const { return late_slope_ < kNone; }
  // Returns the additional time of bytes owed beyond those of the shortest response.
  [[nodiscard]] double longer_ns(std::uint64_t owed) const {
    return owed > least_.owed ? slope_ * static_cast<double>(owed - least_.owed) : 0;
  }

 private:
  static constexpr DurationNs kUnknown = std::numeric_limits<DurationNs>::max();
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  struct Shortest {
    DurationNs time_ns = kUnknown;
    std::uint64_t owed = 0;
    bool operator<(const Shortest& other) const { return time_ns < other.time_ns; }
  };

  Shortest least_;
  double slope_ = 0;  // ns per byte
  Shortest late_;     // since the last drain
  double late_slope_ = kNone;
  std::array<Shortest, tuning::kSome> drains_{};
  std::size_t drains_seen_ = 0;
  std::array<double, tuning::kSome> slopes_;
  std::size_t slopes_seen_ = 0;
};

}  // namespace weir::shaping
