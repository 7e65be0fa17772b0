#include <weir/assignment/throttle_times.hpp>

#include <algorithm>

namespace weir::assignment {

void ThrottleTimes::look(std::span<const HoldUp> held_up, TimeNs now) {
  const DurationNs passed = last_ == 0 ? 0 : now - last_;
  last_ = now;
  if (held_up.empty()) return;
  std::map<std::string_view, double> shares;
  double most = 0;
  for (const HoldUp& one : held_up) {
    const bool room = times_.contains(one.reason) || times_.size() < kReasonsMax;
    double& share = shares[room ? std::string_view(one.reason) : kOther];
    share = std::max(share, one.share);
    most = std::max(most, one.share);
    if (room) times_.try_emplace(one.reason);
  }
  const auto part = [passed](double share) {
    return static_cast<DurationNs>(share * static_cast<double>(passed));
  };
  for (const auto& [reason, share] : shares) times_[std::string(reason)] += part(share);
  lost_ += part(most);
}

}  // namespace weir::assignment
