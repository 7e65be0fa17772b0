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

// Both were asked for at once: what the second one takes longer, its readout's uplink takes for its bytes.
// Another readout's shortest time would count the length of its line as its uplink's pace.
void ShortestTimes::note_of_pair(std::uint32_t readout, DurationNs time_ns, std::uint64_t owed) {
  note(time_ns, owed);
  const Shortest first = std::exchange(first_of_pair_, {time_ns, owed});
  const bool same = std::exchange(pair_readout_, readout) == readout;
  if (!same || owed <= first.owed || time_ns < first.time_ns) return;
  const double more = static_cast<double>(owed - first.owed);
  late_slope_ = std::min(late_slope_, static_cast<double>(time_ns - first.time_ns) / more);
}

void ShortestTimes::end_drain() {
  if (late_.owed > 0) {
    drains_[drains_seen_++ % kDrains] = std::exchange(late_, {});
    const auto end = drains_.begin() + static_cast<std::ptrdiff_t>(std::min(drains_seen_, kDrains));
    const auto least = std::min_element(
        drains_.begin(), end, [](const Shortest& a, const Shortest& b) { return a.time_ns < b.time_ns; });
    ns_ = least->time_ns;
    owed_ = least->owed;
  }
  first_of_pair_ = {};
  if (late_slope_ == kNone) return;
  slopes_[slopes_seen_++ % kSlopes] = std::exchange(late_slope_, kNone);
  const auto end = slopes_.begin() + static_cast<std::ptrdiff_t>(std::min(slopes_seen_, kSlopes));
  slope_ = *std::min_element(slopes_.begin(), end);
}

void ShortestTimes::forget() {
  drains_seen_ = 0;
  slopes_seen_ = 0;
  late_ = {};
}

}  // namespace weir::shaping
