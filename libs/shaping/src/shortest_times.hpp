#pragma once

#include <weir/base/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weir::shaping {

// What an answer takes where no queue of others is: the shortest response time of late, and what a byte more
// takes that the same readout owes, because its own uplink sends one after another. Both are measured anew in
// drains, when next to nothing else is under way; the least of some drains counts, as not every one empties a
// queue that others hold. Pure.
class ShortestTimes {
 public:
  // A response took `time_ns` in the network while its readout owed `owed` bytes, itself included.
  void note(DurationNs time_ns, std::uint64_t owed);
  // The same, in a drain that requests pairs, of a readout that is not farther than others: what a longer
  // line takes is not the pace of an uplink.
  void note_of_pair(DurationNs time_ns, std::uint64_t owed);
  void end_drain();
  // What was measured is another network's.
  void forget();

  [[nodiscard]] DurationNs ns() const { return ns_; }  // 0: not known
  [[nodiscard]] std::uint64_t owed() const { return owed_; }
  // As many pairs were seen since the last drain as it takes: one may be of a readout that pauses.
  [[nodiscard]] bool saw_pairs() const { return late_pairs_ >= kPairs; }
  // So much longer than the shortest one takes what is owed beyond it.
  [[nodiscard]] double longer_ns(std::uint64_t owed) const {
    return owed > owed_ ? slope_ * static_cast<double>(owed - owed_) : 0;
  }

 private:
  struct Shortest {
    DurationNs time_ns = std::numeric_limits<DurationNs>::max();
    std::uint64_t owed = 0;
  };
  static constexpr std::size_t kDrains = 8;
  static constexpr std::size_t kSlopes = 4;
  static constexpr int kPairs = 2;
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  DurationNs ns_ = 0;
  std::uint64_t owed_ = 0;
  double slope_ = 0;  // ns per byte
  Shortest late_;     // since the last drain
  double late_slope_ = kNone;
  int late_pairs_ = 0;
  std::array<Shortest, kDrains> drains_{};
  std::size_t drains_seen_ = 0;
  std::array<double, kSlopes> slopes_{};
  std::size_t slopes_seen_ = 0;
};

}  // namespace weir::shaping
