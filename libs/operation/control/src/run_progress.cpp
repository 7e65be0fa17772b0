#include <weir/control/health.hpp>

#include <algorithm>

namespace weir::control {

void RunProgress::take(const Counts& counts, TimeNs now) {
  const bool less = std::any_of(last_.lost.begin(), last_.lost.end(), [&](const auto& one) {
    const auto found = counts.lost.find(one.first);
    return found == counts.lost.end() || found->second < one.second;
  });
  if (counts.run != last_.run || counts.settled < last_.settled || less || looks_.empty()) {
    clear();
    settled_at_ = now;
  }
  if (counts.settled != last_.settled || counts.in_flight == 0) settled_at_ = now;
  last_ = counts;
  if (looks_.empty() || now - looks_.back().at >= kApart) looks_.push_back({now, counts.lost});
  while (looks_.size() > 1 && now - looks_.front().at > kWindow) looks_.pop_front();
}

DurationNs RunProgress::unsettled_ns(TimeNs now) const {
  return looks_.empty() || last_.in_flight == 0 ? 0 : now - settled_at_;
}

std::vector<LostLately> RunProgress::lost_lately() const {
  std::vector<LostLately> lately;
  if (looks_.empty()) return lately;
  const auto& before = looks_.front().lost;
  for (const auto& [what, total] : last_.lost) {
    const auto found = before.find(what);
    const std::uint64_t count = total - (found == before.end() ? 0 : found->second);
    if (count > 0) lately.push_back({what, count});
  }
  return lately;
}

}  // namespace weir::control
