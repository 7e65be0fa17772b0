#include "request_accounts.hpp"

#include <utility>

namespace weir::dcm {

bool RequestAccounts::answered(std::uint32_t readout, Part* part, const PendingRequests::Answer& answer) {
  Account& of = of_[readout];
  const std::uint32_t owed = part == nullptr ? 0 : std::min(part->owed_fragments, answer.fragments);
  for (std::uint32_t late = answer.fragments - owed; late > 0 && of.late_fragments > 0; --late) {
    const std::uint64_t back = of.late_bytes / of.late_fragments--;
    of.late_bytes -= back;
    note_answer(readout, 1, back);
  }
  if (owed == 0) return false;
  part->owed_fragments -= owed;
  if (learns_) of.pending.answer(answer);
  note_answer(readout, owed, part->owed_fragments == 0 ? std::exchange(part->owed_bytes, 0) : 0);
  return true;
}

void RequestAccounts::timed(std::uint32_t readout, const wire::Timing& timing, TimeNs arrived_ns) {
  const auto answered = of_[readout].pending.take_answered(timing.slice, timing.offset);
  if (!answered) return;
  replies_.push_back({readout, answered->asked_ns, answered->bytes, answered->owed + answered->bytes,
                      arrived_ns, timing.held_us * kMicrosecond});
}

void RequestAccounts::forget_timing(std::uint32_t readout) {
  std::erase_if(replies_, [readout](const Reply& reply) { return reply.readout == readout; });
}

void RequestAccounts::leave(const assembly::BuiltSlice& slice) {
  for (std::uint32_t readout = 0; readout < slice.gathering.parts.size(); ++readout) {
    Account& of = of_[readout];
    const Part& part = slice.gathering.parts[readout];
    of.late_fragments += part.owed_fragments;
    of.late_bytes += part.owed_bytes;
  }
}

void RequestAccounts::disconnected(std::uint32_t readout) {
  forget_timing(readout);
  const bool reported = of_[readout].progress.reported;
  of_[readout] = {};
  of_[readout].progress.reported = reported;
}

void RequestAccounts::report(shaping::Shaper& shaper, TimeNs now_ns) {
  for (const std::uint32_t readout : progressed_) {
    const Progress progress = std::exchange(of_[readout].progress, {});
    if (progress.bytes > 0) shaper.arrived(readout, progress.bytes, now_ns);
    if (progress.fragments > 0) shaper.answered(readout, progress.fragments, progress.rest, now_ns);
  }
  progressed_.clear();
  for (const Reply& reply : replies_) {
    const DurationNs time_ns = std::max<DurationNs>(1, now_ns - reply.asked_ns);
    const DurationNs host_ns = reply.held_ns + std::max<DurationNs>(0, now_ns - reply.arrived_ns);
    // Otherwise one side is wrong, or a clock was set.
    if (host_ns < time_ns)
      shaper.response({reply.readout, time_ns, reply.bytes, host_ns, reply.owed}, now_ns);
  }
  replies_.clear();
}

}  // namespace weir::dcm
