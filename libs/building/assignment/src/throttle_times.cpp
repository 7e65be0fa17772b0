#include <weir/assignment/throttle_times.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>

namespace weir::assignment {

void ThrottleTimes::look(std::span<const HoldUp> held_up, TimeNs now) {
  const DurationNs passed = last_ == 0 ? 0 : now - last_;
  WEIR_ASSERT(passed >= 0);
  last_ = now;
  if (held_up.empty()) return;
  std::map<std::string_view, double> shares;
  double most = 0;
  for (const HoldUp& one : held_up) {
    const bool room = lost_.by_reason.contains(one.reason) || lost_.by_reason.size() < kReasonsMax;
    double& share = shares[room ? std::string_view(one.reason) : kOther];
    share = std::max(share, one.share);
    most = std::max(most, one.share);
    if (room) lost_.by_reason.try_emplace(one.reason);
  }
  const auto part = [passed](double share) {
    return static_cast<DurationNs>(share * static_cast<double>(passed));
  };
  for (const auto& [reason, share] : shares) lost_.by_reason[std::string(reason)] += part(share);
  lost_.all += part(most);
}

}  // namespace weir::assignment
