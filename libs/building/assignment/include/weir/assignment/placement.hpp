#pragma once

#include <weir/assignment/node_tables.hpp>
#include <weir/assignment/policy.hpp>
#include <weir/assignment/slice_book.hpp>
#include <weir/slice_rows/destinations.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weir::assignment {

// Chooses the DCM for a slice: by the policy, or in push runs the slice's destination for its first attempt.
// Absent and held-back DCMs are not destinations. Pure; one thread.
class Placement {
 public:
  // Covers the `count` DCMs from `first` on; all of them with push, or without a count. The policy sees only
  // these.
  Placement(std::unique_ptr<AssignmentPolicy> policy, bool push, NodeIndex first = {},
            std::size_t count = std::dynamic_extent)
      : policy_(std::move(policy)), first_(first.value), count_(count), push_(push) {}

  // The set of DCMs has changed: in push runs an epoch begins with slice `next`.
  void renew(SliceId next, const DcmTable& dcms);
  // So many slices wait for choose().
  void begin_round(std::size_t waiting, const DcmTable& dcms) {
    policy_->begin_round(waiting, dcms.views().subspan(first_, count_));
  }
  // Returns nullopt if the slice has to wait. Call when a credit is free.
  [[nodiscard]] std::optional<NodeIndex> choose(const SliceEntry& entry, const DcmTable& dcms, TimeNs now) {
    const DcmView* pushed_to = push_ && entry.attempt.value == 0 ? destination(entry.slice, dcms) : nullptr;
    if (pushed_to == nullptr) {
      const auto chosen = policy_->choose(entry.slice, dcms.views().subspan(first_, count_), now);
      return chosen ? std::optional(NodeIndex(static_cast<std::uint16_t>(chosen->value + first_))) : chosen;
    }
    return pushed_to->credits_free > 0 ? destinations_.of(entry.slice) : std::nullopt;
  }
  // True if the slice's destination has no free credit: the slice must not be triggered, because its data
  // would be pushed anyway.
  [[nodiscard]] bool is_full(SliceId slice, const DcmTable& dcms) const {
    const DcmView* pushed_to = push_ ? destination(slice, dcms) : nullptr;
    return pushed_to != nullptr && pushed_to->credits_free == 0;
  }

  // As AssignmentPolicy::decided() and joined().
  void decided(NodeIndex dcm, std::uint32_t before, DurationNs took, TimeNs now) {
    policy_->decided(in_group(dcm), before, took, now);
  }
  void joined(NodeIndex dcm) { policy_->joined(in_group(dcm)); }
  // Empty in pull runs.
  [[nodiscard]] const DestinationTable& destinations() const { return destinations_; }
  // For SupervisorMachine::append_state(). Does not include the policy's state.
  void append_state(std::vector<std::uint64_t>& out) const;

 private:
  // Returns the slice's destination if that DCM accepts slices, otherwise null.
  [[nodiscard]] const DcmView* destination(SliceId slice, const DcmTable& dcms) const;

  [[nodiscard]] NodeIndex in_group(NodeIndex dcm) const {
    return NodeIndex(static_cast<std::uint16_t>(dcm.value - first_));
  }

  std::shared_ptr<AssignmentPolicy> policy_;  // shared only with twins
  DestinationTable destinations_;
  std::size_t first_;
  std::size_t count_;
  bool push_;
};

}  // namespace weir::assignment
