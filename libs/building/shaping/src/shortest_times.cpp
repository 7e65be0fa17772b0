#include "shortest_times.hpp"

#include <algorithm>
#include <utility>

namespace weir::shaping {
void ShortestTimes::note(DurationNs time_ns, std::uint64_t owed) {
  if (time_ns < late_.time_ns) late_ = {time_ns, owed};
  if (ns_ != 0 && time_ns >= ns_) return;
  ns_ = time_ns;
  owed_ = owed;
}

// Compares with the shortest response instead of the other answer of the pair: if both are read in one pass,
// no time lies between them. The smallest value of several pairs is used.
void ShortestTimes::note_of_pair(DurationNs time_ns, std::uint64_t owed) {
  note(time_ns, owed);
  const std::uint64_t more = owed - std::min(owed, owed_);
  // For fewer bytes the hosts' times dominate.
  if (static_cast<double>(more) < tuning::kQueue || 2 * more <= owed_) return;
  late_slope_ = std::min(late_slope_, static_cast<double>(time_ns - ns_) / static_cast<double>(more));
}

void ShortestTimes::end_drain() {
  if (late_.owed > 0) {
    drains_[drains_seen_++ % tuning::kSome] = std::exchange(late_, {});
    const auto end =
        drains_.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(drains_seen_, tuning::kSome));
    const auto least = std::min_element(
        drains_.begin(), end, [](const Shortest& a, const Shortest& b) { return a.time_ns < b.time_ns; });
    ns_ = least->time_ns;
    owed_ = least->owed;
  }
  if (!saw_pair()) return;
  const double slope = std::exchange(late_slope_, kNone);
  slopes_[slopes_seen_++ % tuning::kSome] = slope;
  const auto end =
      slopes_.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(slopes_seen_, tuning::kSome));
  slope_ = *std::min_element(slopes_.begin(), end);
}

}  // namespace weir::shaping
