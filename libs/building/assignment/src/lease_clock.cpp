#include <weir/assignment/lease_clock.hpp>

#include <algorithm>

namespace weir::assignment {

TimeNs LeaseClock::lease_begin(const SliceEntry& entry, const DcmTable& dcms) {
  return std::max(entry.since, dcms.decided_at(entry.dcm));
}

TimeNs LeaseClock::lease_end(const SliceEntry& entry, const DcmTable& dcms) const {
  // The DCM sends the note when half of its lease is over.
  if (const auto noted = dcms.noted_at(entry.dcm, {entry.slice, entry.attempt}))
    return *noted + lease_ns(entry.group) / 2;
  return lease_begin(entry, dcms) + lease_ns(entry.group) + times_.data_ns;
}

// Twice as long each time: where every writer is slower, one of them is waited for in the end.
DurationNs LeaseClock::patience(const SliceEntry& entry) const {
  constexpr int kDoublingsMax = 10;
  return times_.writer_ack_ns << std::clamp(entry.confirmations - 1, 0, kDoublingsMax);
}

bool LeaseClock::run_out(const SliceEntry& entry, const DcmTable& dcms, const NodeTable& writers,
                         TimeNs now) {
  const bool leased = entry.state == SliceState::assigned && !entry.held;
  const bool unacknowledged = entry.state == SliceState::confirmed && times_.writer_ack_ns > 0;
  if (!leased && !unacknowledged) return false;
  const TimeNs deadline = leased ? lease_end(entry, dcms) : entry.since + patience(entry);
  if (deadline > now) {
    look_by(deadline);
    return false;
  }
  if (leased || writers.has_other(entry.writer)) return true;
  look_by(now + times_.writer_ack_ns);
  return false;
}

DurationNs LeaseClock::age(const SliceEntry& entry, const DcmTable& dcms, TimeNs now) const {
  if (entry.state == SliceState::assigned)
    return std::min(now - lease_begin(entry, dcms), lease_ns(entry.group) + times_.data_ns);
  if (entry.state == SliceState::confirmed) return std::min(now - entry.since, patience(entry));
  return 0;
}

void LeaseClock::append_state(TimeNs now, std::vector<std::uint64_t>& out) const {
  const bool never = next_look_ == INT64_MAX;
  out.push_back(never ? UINT64_MAX : static_cast<std::uint64_t>(std::max<TimeNs>(0, next_look_ - now)));
}

}  // namespace weir::assignment
