#include <weir/assignment/dcm_groups.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {

bool DcmGroup::may_forward_to(GroupIndex group) const {
  const auto& to = settings.forwards_to;
  return std::find(to.begin(), to.end(), group) != to.end();
}

DcmGroups::DcmGroups(const std::vector<GroupSettings>& settings, Policies policies, std::size_t dcms,
                     std::size_t in_flight_max, bool push)
    : of_dcm_(dcms), split_(settings.size() > 1) {
  const GroupSettings all{{}, NodeIndex(0), static_cast<std::uint16_t>(dcms), {}};
  const std::vector<GroupSettings> groups = settings.empty() ? std::vector{all} : settings;
  WEIR_ASSERT(policies.size() == groups.size() && groups.size() <= kGroupsMax);
  std::size_t next = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    WEIR_ASSERT(groups[i].first.value == next);
    groups_.push_back({groups[i], WaitingSlices(in_flight_max),
                       Placement(std::move(policies[i]), push, groups[i].first, groups[i].count)});
    for (std::size_t dcm = 0; dcm < groups[i].count; ++dcm)
      of_dcm_.at(next++) = GroupIndex(static_cast<std::uint8_t>(i));
  }
  WEIR_ASSERT(next == dcms);
}

std::vector<DurationNs> DcmGroups::leases() const {
  std::vector<DurationNs> leases;
  for (const DcmGroup& group : groups_) leases.push_back(group.settings.lease_ns);
  return leases;
}

std::vector<bool> DcmGroups::remote() const {
  std::vector<bool> remote;
  for (const DcmGroup& group : groups_) remote.push_back(group.settings.remote);
  return remote;
}

void DcmGroups::make_room(std::size_t capacity) {
  for (DcmGroup& group : groups_) group.waiting.make_room(capacity);
}

void DcmGroups::clear() {
  for (DcmGroup& group : groups_) group.waiting.clear();
}

std::size_t DcmGroups::pending() const {
  std::size_t pending = 0;
  for (const DcmGroup& group : groups_) pending += group.waiting.pending();
  return pending;
}

double DcmGroups::level(GroupIndex group, std::size_t pending_max) const {
  const DcmGroup& one = groups_[group.value];
  const std::size_t limit = one.settings.pending_max > 0 ? one.settings.pending_max : pending_max;
  WEIR_ASSERT(limit > 0);
  return static_cast<double>(one.waiting.pending()) / static_cast<double>(limit);
}

GroupIndex DcmGroups::fullest(std::size_t pending_max) const {
  GroupIndex fullest{0};
  double most = 0;
  for (std::size_t i = 1; i < groups_.size(); ++i) {
    const GroupIndex group(static_cast<std::uint8_t>(i));
    if (groups_[i].waiting.pending() == 0 || level(group, pending_max) <= most) continue;
    most = level(group, pending_max);
    fullest = group;
  }
  return fullest;
}

bool DcmGroups::has_own_credit(const DcmGroup& group, const DcmTable& dcms) {
  const auto views = dcms.views().subspan(group.settings.first.value, group.settings.count);
  return std::any_of(views.begin(), views.end(), [](const DcmView& dcm) { return dcm.credits_free > 0; });
}

void DcmGroups::append_state(std::vector<std::uint64_t>& out) const {
  for (const DcmGroup& group : groups_) {
    group.waiting.append_state(out);
    group.placement.append_state(out);
  }
}

}  // namespace weir::assignment
