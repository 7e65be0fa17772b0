#pragma once

#include <weir/assignment/node_tables.hpp>
#include <weir/assignment/placement.hpp>
#include <weir/assignment/waiting_slices.hpp>
#include <weir/assignment/words.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::assignment {

// A group of DCMs as the farm file gives it. Its DCMs have consecutive indexes.
struct GroupSettings {
  std::string name;
  NodeIndex first;
  std::uint16_t count = 0;
  std::vector<GroupIndex> forwards_to;
  bool remote = false;      // its slices wait while all its DCMs are cut off from readouts that others reach
  bool fetches = false;     // whole slices, from the DCM that forwards them
  DurationNs lease_ns = 0;  // 0: SupervisorSettings::lease_ns
  std::uint32_t pending_max = 0;  // slices that may wait, if forwarded; 0: SupervisorSettings::pending_max
};

// A group's waiting slices, and the policy that chooses their DCM.
struct DcmGroup {
  GroupSettings settings;
  WaitingSlices waiting;
  Placement placement;

  [[nodiscard]] bool may_forward_to(GroupIndex group) const;
};

// The groups of a farm's DCMs; a farm without groups has one, of all DCMs. New slices go to the first,
// forwarded slices to the others. Pure; one thread.
class DcmGroups {
 public:
  using Policies = std::vector<std::unique_ptr<AssignmentPolicy>>;

  // `settings` empty: one group of all `dcms`. Requires: a policy for each group, and each DCM in one group.
  DcmGroups(const std::vector<GroupSettings>& settings, Policies policies, std::size_t dcms,
            std::size_t in_flight_max, bool push);

  [[nodiscard]] std::size_t size() const { return groups_.size(); }
  // True if the farm has several groups.
  [[nodiscard]] bool split() const { return split_; }
  [[nodiscard]] DcmGroup& first() { return groups_.front(); }
  [[nodiscard]] const DcmGroup& first() const { return groups_.front(); }
  [[nodiscard]] DcmGroup& operator[](GroupIndex group) { return groups_[group.value]; }
  [[nodiscard]] const DcmGroup& operator[](GroupIndex group) const { return groups_[group.value]; }
  [[nodiscard]] GroupIndex of(NodeIndex dcm) const { return of_dcm_[dcm.value]; }
  [[nodiscard]] const std::vector<GroupIndex>& by_dcm() const { return of_dcm_; }
  // By group: GroupSettings::lease_ns and remote.
  [[nodiscard]] std::vector<DurationNs> leases() const;
  [[nodiscard]] std::vector<bool> remote() const;

  // Call when a credit is returned or a DCM joins: more slices may be assigned.
  void look_again() {
    for (DcmGroup& group : groups_) group.waiting.look_again();
  }
  void make_room(std::size_t capacity);
  void clear();
  // Returns the number of slices that wait for a DCM, in all groups.
  [[nodiscard]] std::size_t pending() const;
  // Returns the group with the fullest list of waiting slices, without the first group; the first one if no
  // slice waits. `pending_max`: for groups without a limit of their own.
  [[nodiscard]] GroupIndex fullest(std::size_t pending_max) const;
  // Returns the share of a group's limit that is waiting: 1 if it is full.
  [[nodiscard]] double level(GroupIndex group, std::size_t pending_max) const;
  // True if a DCM of the group has a free credit.
  [[nodiscard]] bool has_credit(const DcmGroup& group, const DcmTable& dcms) const {
    return split_ ? has_own_credit(group, dcms) : dcms.credits_free() > 0;
  }
  // For SupervisorMachine::append_state().
  void append_state(std::vector<std::uint64_t>& out) const;

 private:
  [[nodiscard]] static bool has_own_credit(const DcmGroup& group, const DcmTable& dcms);

  std::vector<DcmGroup> groups_;
  std::vector<GroupIndex> of_dcm_;
  bool split_ = false;
};

}  // namespace weir::assignment
