#pragma once

#include <weir/assignment/node_tables.hpp>
#include <weir/assignment/slice_book.hpp>
#include <weir/base/time.hpp>

#include <cstdint>
#include <vector>

namespace weir::assignment {

struct LeaseTimes {
  DurationNs lease_ns = 0;  // SupervisorSettings::lease_ns, and so on
  DurationNs data_ns = 0;
  DurationNs writer_ack_ns = 0;  // 0: no limit
};

// When the leases of DCMs run out, and the confirmations to writers. It knows no slice: the machine asks
// about each, when it is time to look. Pure; one thread.
class LeaseClock {
 public:
  explicit LeaseClock(LeaseTimes times) : times_(times) {}

  // A lease begins now.
  void assigned(TimeNs now) { look_by(now + times_.lease_ns + times_.data_ns); }
  // A slice was confirmed now, for the entry.confirmations-th time.
  void confirmed(const SliceEntry& entry, TimeNs now) {
    if (times_.writer_ack_ns > 0) look_by(now + patience(entry));
  }
  // A DCM says of a slice now that it is in the filter for long: half of its lease is over.
  void noted(TimeNs now) { look_by(now + times_.lease_ns / 2); }

  [[nodiscard]] TimeNs next_look() const { return next_look_; }  // nothing runs out before; INT64_MAX: ever
  // A look begins; run_out() is asked of each unsettled slice.
  void begin_look() { next_look_ = INT64_MAX; }
  // It is assigned or confirmed, and its time is up. Of an assigned one the lease begins anew whenever its
  // DCM decides on something: what it has not decided yet waits for its turn. A confirmed one goes on waiting
  // while there is no other writer.
  [[nodiscard]] bool run_out(const SliceEntry& entry, const DcmTable& dcms, const NodeTable& writers,
                             TimeNs now);

  // For SupervisorMachine::append_state(): how long a slice has waited for its DCM or writer, 0 when for
  // neither. What is past its time is as old as its time.
  [[nodiscard]] DurationNs age(const SliceEntry& entry, const DcmTable& dcms, TimeNs now) const;
  void append_state(TimeNs now, std::vector<std::uint64_t>& out) const;

 private:
  static TimeNs lease_begin(const SliceEntry& entry, const DcmTable& dcms);
  [[nodiscard]] TimeNs lease_end(const SliceEntry& entry, const DcmTable& dcms) const;
  // For an acknowledgement.
  [[nodiscard]] DurationNs patience(const SliceEntry& entry) const;
  void look_by(TimeNs deadline) { next_look_ = deadline < next_look_ ? deadline : next_look_; }

  LeaseTimes times_;
  TimeNs next_look_ = INT64_MAX;
};

}  // namespace weir::assignment
