#include <weir/assignment/throttle_times.hpp>

#include <set>

namespace weir::assignment {

void ThrottleTimes::look(std::span<const ThrottleBoard::Entry> entries, TimeNs now) {
  const DurationNs passed = last_ == 0 ? 0 : now - last_;
  last_ = now;
  if (entries.empty()) return;
  std::set<std::string_view> reasons;
  for (const ThrottleBoard::Entry& entry : entries) {
    const bool room = times_.contains(entry.reason) || times_.size() < kReasonsMax;
    reasons.insert(room ? std::string_view(entry.reason) : kOther);
    if (room) times_.try_emplace(entry.reason);
  }
  for (const std::string_view reason : reasons) times_[std::string(reason)] += passed;
}

}  // namespace weir::assignment
