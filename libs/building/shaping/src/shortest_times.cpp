#include "shortest_times.hpp"

#include <algorithm>
#include <utility>

namespace weir::shaping {

using namespace tuning;

void ShortestTimes::note(DurationNs time_ns, std::uint64_t owed) {
  const Shortest now{time_ns, owed};
  late_ = std::min(late_, now);
  least_ = std::min(least_, now);
}

// Compares with the shortest response instead of the other answer of the pair: if both are read in one pass,
// no time lies between them. The smallest value of several pairs is used.
void ShortestTimes::note_of_pair(DurationNs time_ns, std::uint64_t owed) {
  note(time_ns, owed);
  const std::uint64_t more = owed - std::min(owed, least_.owed);
  // For fewer bytes the hosts' times dominate.
  if (static_cast<double>(more) < kQueue || 2 * more <= least_.owed) return;
  late_slope_ = std::min(late_slope_, static_cast<double>(time_ns - ns()) / static_cast<double>(more));
}

void ShortestTimes::end_drain() {
  if (late_.owed > 0) {
    drains_[drains_seen_++ % kSome] = std::exchange(late_, {});
    least_ = *std::min_element(drains_.begin(), drains_.end());
  }
  if (!saw_pair()) return;
  slopes_[slopes_seen_++ % kSome] = std::exchange(late_slope_, kNone);
  slope_ = *std::min_element(slopes_.begin(), slopes_.end());
}

}  // namespace weir::shaping
