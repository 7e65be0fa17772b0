#pragma once

#include <weir/assignment/node_tables.hpp>
#include <weir/assignment/slice_book.hpp>
#include <weir/base/time.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace weir::assignment {

struct LeaseTimes {
  DurationNs lease_ns = 0;  // as in SupervisorSettings, like the others
  DurationNs data_ns = 0;
  DurationNs writer_ack_ns = 0;  // 0: no limit
  std::vector<DurationNs> of_group =
      {};  // leases of groups of DCMs, by index, instead of lease_ns; 0: lease_ns
};

// Expiry of DCMs' leases and of confirmations to writers. It stores no slices: the machine checks each slice
// when next_look() is due. Pure; one thread.
class LeaseClock {
 public:
  explicit LeaseClock(LeaseTimes times) : times_(std::move(times)) {}

  [[nodiscard]] DurationNs lease_ns(GroupIndex group) const {
    const bool own = group.value < times_.of_group.size() && times_.of_group[group.value] > 0;
    return own ? times_.of_group[group.value] : times_.lease_ns;
  }
  // A lease of a DCM of this group begins.
  void assigned(GroupIndex group, TimeNs now) { look_by(now + lease_ns(group) + times_.data_ns); }
  // A slice was confirmed, for the entry.confirmations-th time.
  void confirmed(const SliceEntry& entry, TimeNs now) {
    if (times_.writer_ack_ns > 0) look_by(now + patience(entry));
  }
  // A DCM reports that the slice is in the filter for long: half of its lease is over.
  void noted(GroupIndex group, TimeNs now) { look_by(now + lease_ns(group) / 2); }

  [[nodiscard]] TimeNs next_look() const { return next_look_; }  // earliest possible expiry; INT64_MAX: none
  // Starts a check; the caller then calls run_out() for each unsettled slice.
  void begin_look() { next_look_ = INT64_MAX; }
  // True if the slice is assigned or confirmed, and its time is up. The lease of an assigned slice begins
  // again with each decision of its DCM, because undecided slices wait for their turn. A confirmed slice
  // keeps waiting while no other writer is available.
  [[nodiscard]] bool run_out(const SliceEntry& entry, const DcmTable& dcms, const NodeTable& writers,
                             TimeNs now);

  // For SupervisorMachine::append_state(): how long a slice has waited for its DCM or writer, 0 if it waits
  // for neither. Limited to its timeout.
  [[nodiscard]] DurationNs age(const SliceEntry& entry, const DcmTable& dcms, TimeNs now) const;
  void append_state(TimeNs now, std::vector<std::uint64_t>& out) const;

 private:
  static TimeNs lease_begin(const SliceEntry& entry, const DcmTable& dcms);
  [[nodiscard]] TimeNs lease_end(const SliceEntry& entry, const DcmTable& dcms) const;
  // Time until an acknowledgement is overdue.
  [[nodiscard]] DurationNs patience(const SliceEntry& entry) const;
  void look_by(TimeNs deadline) { next_look_ = deadline < next_look_ ? deadline : next_look_; }

  LeaseTimes times_;
  TimeNs next_look_ = INT64_MAX;
};

}  // namespace weir::assignment
