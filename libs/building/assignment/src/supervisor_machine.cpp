#include <weir/assignment/supervisor_machine.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {
namespace {

// A record damaged in transit is good the next time; a record refused three times is damaged at its source.
constexpr std::uint8_t kRefusalsMax = 3;

DcmGroups::Policies one_policy(std::unique_ptr<AssignmentPolicy> policy) {
  DcmGroups::Policies policies;
  policies.push_back(std::move(policy));
  return policies;
}

}  // namespace

SupervisorMachine::SupervisorMachine(const SupervisorSettings& settings,
                                     std::unique_ptr<TriggerSource> source,
                                     std::unique_ptr<AssignmentPolicy> policy)
    : SupervisorMachine(settings, std::move(source), one_policy(std::move(policy))) {}

SupervisorMachine::SupervisorMachine(const SupervisorSettings& settings,
                                     std::unique_ptr<TriggerSource> source, DcmGroups::Policies policies)
    : settings_(settings),
      source_(std::move(source)),
      waits_for_room_(source_->waits_for_room()),
      book_(settings.in_flight_max, settings.remembered_slices),
      dcms_(settings.dcms),
      groups_(settings.groups, std::move(policies), settings.dcms, settings.in_flight_max, settings.push),
      readouts_(settings.readouts),
      confirmations_(settings.writers),
      reach_(settings.dcms, settings.readouts, settings.reach, groups_.by_dcm(), groups_.remote()),
      reach_news_(settings.dcms, settings.readouts),
      pressure_(settings.gate),
      parts_(settings.readouts, settings.dcms, settings.writers),
      clock_(settings.duration_ns, settings.drain_ns),
      blame_(settings.filtered_attempts_max, settings.attempts_max),
      leases_({settings.lease_ns, settings.data_ns, settings.writer_ack_ns, groups_.leases()}),
      ids_(settings.first_slice, settings.id_intervals_max) {
  WEIR_ASSERT(settings.in_flight_max > 0 && settings.pending_max > 0 && settings.lease_ns > 0);
  WEIR_ASSERT(!settings.push || !groups_.split());
  ledger_.stored_by.resize(settings.writers);
  for (const GroupSettings& group : settings.groups) ledger_.groups.emplace_back().name = group.name;
}

void SupervisorMachine::start(const Now& now) {
  clock_.start(now);
  renew_destinations();
  source_->start(now);
}

void SupervisorMachine::tick(const Now& now, Actions& out) {
  pressure_.renew(parts_, writers());
  expire(now.mono, out);
  if (reach_.is_due(now.mono)) judge_reach(now.mono, out);
  make_triggers(now, out);
  assign_pending(now.mono, out);
  if (now.mono >= parts_.next_look()) look_at_drains(now.mono, out);
}

std::optional<TimeNs> SupervisorMachine::next_wakeup(const Now& now) const {
  std::optional<TimeNs> wakeup;
  const auto by = [&wakeup](TimeNs time) { wakeup = wakeup ? std::min(*wakeup, time) : time; };
  if (clock_.phase() == RunPhase::triggering) {
    const bool room = !clock_.paused() && !throttled() &&
                      groups_.first().waiting.pending() < settings_.pending_max &&
                      book_.live() < settings_.in_flight_max;
    const auto due = source_->next_due(now);
    if (due && (room || !waits_for_room_))
      by(waits_for_room_ ? std::max(*due, pressure_.opens_at(pending_level(), now.mono)) : *due);
    if (const TimeNs until = clock_.triggers_until(now.mono); until != INT64_MAX) by(until);
  }
  if (leases_.next_look() != INT64_MAX && book_.live() > 0) by(leases_.next_look());
  if (clock_.stopping() && book_.live() > 0) by(clock_.drains_until());
  if (parts_.next_look() != INT64_MAX) by(parts_.next_look());
  if (reach_.next_ns() != INT64_MAX) by(reach_.next_ns());
  return wakeup;
}

void SupervisorMachine::assign_pending(TimeNs now, Actions& out) {
  if (!groups_.split()) return assign_pending(groups_.first(), now, out);
  // Later groups first: their slices make room for others.
  for (std::size_t i = groups_.size(); i-- > 0;)
    assign_pending(groups_[GroupIndex(static_cast<std::uint8_t>(i))], now, out);
}

void SupervisorMachine::assign_pending(DcmGroup& group, TimeNs now, Actions& out) {
  const auto any_credit = [&] { return groups_.has_credit(group, dcms_); };
  if (group.waiting.pending() > 0) group.placement.begin_round(group.waiting.pending(), dcms_);
  group.waiting.hand_out(any_credit, [&](SliceId slice) {
    SliceEntry& entry = waiting(slice);
    const auto dcm = group.placement.choose(entry, dcms_, now);
    if (dcm) assign(entry, *dcm, now, out);
    return dcm.has_value();
  });
}

SliceEntry& SupervisorMachine::waiting(SliceId slice) {
  SliceEntry* entry = book_.find(slice);
  WEIR_ASSERT(entry != nullptr && entry->state == SliceState::pending);
  return *entry;
}

void SupervisorMachine::assign(SliceEntry& entry, NodeIndex dcm, TimeNs now, Actions& out) {
  entry.before = static_cast<std::uint16_t>(std::min(dcms_.views()[dcm.value].in_use(), 65535U));
  WEIR_ASSERT(groups_.of(dcm) == entry.group);
  dcms_.take(dcm);
  enter(entry, SliceState::assigned);
  entry.dcm = dcm;
  entry.since = now;
  leases_.assigned(entry.group, now);

  Assignment assignment;
  assignment.slice = entry.slice;
  assignment.order = entry.order;
  assignment.info = entry.info;
  assignment.attempt = entry.attempt;
  assignment.unfiltered = blame_.unfiltered(entry);
  assignment.suspect = entry.suspect;
  assignment.kills = entry.kills;
  assignment.losses = entry.losses;
  if (entry.has_payload) {
    const ConstBytes payload = book_.payload(entry);
    WEIR_ASSERT(out.payload.size() + payload.size() <= UINT32_MAX);
    assignment.payload_offset = static_cast<std::uint32_t>(out.payload.size());
    assignment.payload_length = static_cast<std::uint32_t>(payload.size());
    out.payload.insert(out.payload.end(), payload.begin(), payload.end());
  }
  if (entry.has_forwarded && !(planted(Planted::forget_forward_bytes) && !entry.arrived)) {
    const ConstBytes bytes = book_.forwarded(entry);
    WEIR_ASSERT(out.payload.size() + bytes.size() <= UINT32_MAX);
    assignment.forwarded_offset = static_cast<std::uint32_t>(out.payload.size());
    assignment.forwarded_length = static_cast<std::uint32_t>(bytes.size());
    out.payload.insert(out.payload.end(), bytes.begin(), bytes.end());
  }
  assignment.kept_by = entry.kept_by;
  assignment.kept_attempt = entry.kept_attempt;
  ++ledger_.assignments;
  if (!ledger_.groups.empty()) note_assigned(entry);
  if (assignment.unfiltered) ++ledger_.unfiltered;
  if (assignment.suspect) ++ledger_.suspected;
  out.of(dcm).assign.push_back(assignment);
}

void SupervisorMachine::decisions(NodeIndex dcm, std::span<const AttemptDecision> batch, TimeNs now,
                                  Actions& out) {
  if (!dcms_.live(dcm)) {
    ++ledger_.strangers;
    return;
  }
  for (const AttemptDecision& decision : batch) decide(dcm, decision, now, out);
  groups_.look_again();
}

void SupervisorMachine::decide(NodeIndex dcm, const AttemptDecision& decision, TimeNs now, Actions& out) {
  SliceEntry* entry = book_.find(decision.slice);
  const bool own =
      entry != nullptr && entry->live() && entry->dcm == dcm && entry->attempt == decision.attempt;
  if (decision.verdict == Verdict::held) {
    if (!own || entry->state != SliceState::assigned || entry->held) return;
    entry->held = true;
    dcms_.decided(dcm, now);
    return;
  }
  if (!own) {
    if (dcms_.redeem(dcm, decision.slice, decision.attempt)) dcms_.decided(dcm, now);
    if (planted(Planted::confirm_two_attempts) && decision.verdict == Verdict::accept && entry != nullptr) {
      out.of(dcm).confirm.push_back(
          {decision.slice, decision.attempt, StoreEpoch(7), NodeIndex(0), Answer::store});
      return;
    }
    const bool stale = entry != nullptr && entry->state == SliceState::pending;
    if (planted(Planted::forward_stale) && decision.verdict == Verdict::forward && stale) {
      groups_[entry->group].waiting.erase(entry->slice);
      enter(*entry, SliceState::assigned);
      entry->dcm = dcm;
      forward(*entry, decision, out);
      return;
    }
    ++ledger_.decisions_refused;
    out.answer(dcm, decision.slice, decision.attempt, Answer::refused);
    return;
  }
  if (entry->state != SliceState::assigned) {
    decide_again(*entry, decision, out);
    return;
  }
  dcms_.give_back(dcm);
  dcms_.decided(dcm, now);
  // A slice handed back gives no information about the DCM's speed.
  const bool handed_back = decision.verdict == Verdict::failed && is_handed_back(decision.reason);
  if (!handed_back) groups_[entry->group].placement.decided(dcm, entry->before, now - entry->since, now);
  // Whatever it did to its DCM before, this attempt was harmless.
  if (decision.verdict != Verdict::failed) entry->suspect = false;
  switch (decision.verdict) {
    case Verdict::held:
      return;
    case Verdict::reject:
      out.answer(dcm, decision.slice, decision.attempt, Answer::settled);
      settle(*entry, Outcome::rejected, DiscardReason::none, out);
      return;
    case Verdict::accept:
      entry->incomplete = decision.incomplete;
      if (writers().places() == 0) {
        out.answer(dcm, decision.slice, decision.attempt, Answer::settled);
        settle(*entry, Outcome::discarded, DiscardReason::no_writer, out);
      } else {
        confirm_accept(*entry, now, out);
      }
      return;
    case Verdict::failed:
      fail(*entry, decision, out);
      return;
    case Verdict::forward:
      forward(*entry, decision, out);
      return;
  }
}

// Repeats the decision for an accepted slice: the DCM repeats its request, or no longer has the slice.
void SupervisorMachine::decide_again(SliceEntry& entry, const AttemptDecision& decision, Actions& out) {
  if (decision.verdict == Verdict::failed) {
    out.answer(entry.dcm, entry.slice, entry.attempt, Answer::refused);
    if (decision.reason == DiscardReason::writer_refused) {
      ++ledger_.records_refused;
      ++entry.refusals;
    }
    if (entry.refusals < kRefusalsMax) return reopen(entry, Blame::nobody, out);
    confirmations_.give_up(entry);
    return settle(entry, Outcome::discarded, DiscardReason::writer_refused, out);
  }
  ++ledger_.decisions_repeated;
  if (entry.state != SliceState::confirmed) return;
  out.of(entry.dcm).confirm.push_back(
      {entry.slice, entry.attempt, entry.epoch, entry.writer, Answer::store, entry.copy_incomplete});
}

void SupervisorMachine::note_returned(NodeIndex dcm) {
  auto news = reach_news_.handed_back(dcm);
  if (news && in_progress())
    faults_.note(
        {news->kind, Role::dcm, dcm, dcms_.incarnation(dcm), 0, news->slices, std::move(news->readouts)});
}

void SupervisorMachine::fail(SliceEntry& entry, const AttemptDecision& decision, Actions& out) {
  const NodeIndex dcm = entry.dcm;
  const bool handed_back = is_handed_back(decision.reason);
  const bool another_try = handed_back || decision.reason == DiscardReason::filter_failed ||
                           decision.reason == DiscardReason::lost;
  if (handed_back) {
    ++ledger_.handed_back;
    if (decision.reason == DiscardReason::unreachable) note_returned(dcm);
  }
  out.answer(dcm, entry.slice, entry.attempt, another_try ? Answer::refused : Answer::settled);
  if (another_try) {
    reopen(entry, decision.reason == DiscardReason::filter_failed ? Blame::attempt : Blame::nobody, out);
    return;
  }
  // Only reasons that a DCM can observe; the others are the supervisor's own.
  const bool known =
      decision.reason >= DiscardReason::unspecified && decision.reason <= DiscardReason::deadline;
  settle(entry, Outcome::discarded, known ? decision.reason : DiscardReason::unspecified, out);
}

void SupervisorMachine::confirm_accept(SliceEntry& entry, TimeNs now, Actions& out, NodeIndex silent) {
  switch (confirmations_.confirm(entry, now, silent, reach_.writers_lost(entry.dcm))) {
    case Confirmations::Result::no_writer:
      return;
    case Confirmations::Result::exhausted:
      out.answer(entry.dcm, entry.slice, entry.attempt, Answer::refused);
      return settle(entry, Outcome::discarded, DiscardReason::attempts_exhausted, out);
    case Confirmations::Result::confirmed:
      break;
  }
  if (planted(Planted::clear_early))
    out.cleared.push_back(
        {entry.slice, entry.order, entry.attempt, entry.epoch, entry.writer, Outcome::stored});
  leases_.confirmed(entry, now);
  out.of(entry.dcm).confirm.push_back(
      {entry.slice, entry.attempt, entry.epoch, entry.writer, Answer::store, entry.copy_incomplete});
}

void SupervisorMachine::stored(NodeIndex writer, std::span<const CopyId> batch, Actions& out) {
  if (!writers().live(writer)) {
    ++ledger_.strangers;
    return;
  }
  for (const CopyId& ack : batch) {
    SliceEntry* entry = book_.find(ack.slice);
    const Copy copy = confirmations_.judge(entry, writer, ack);
    switch (copy) {
      case Copy::live:
        settle(*entry, Outcome::stored, DiscardReason::none, out);
        continue;
      case Copy::late_live:
        take_copy(*entry, writer, ack, out);
        continue;
      case Copy::repeated:
        ++ledger_.acks_repeated;
        break;
      case Copy::dead:
        ++ledger_.acks_dead;
        break;
      case Copy::old_live:
      case Copy::old_dead:
        ++ledger_.acks_unknown;
        break;
    }
    const bool live = copy == Copy::repeated || copy == Copy::old_live;
    const bool settled = entry == nullptr || !entry->live();
    out.copies.push_back({writer, ack.slice, ack.attempt, ack.epoch, live, settled});
  }
}

void SupervisorMachine::take_copy(SliceEntry& entry, NodeIndex writer, const CopyId& ack, Actions& out) {
  if (entry.state == SliceState::pending) groups_[entry.group].waiting.erase(entry.slice);
  if (entry.state == SliceState::assigned) dcms_.revoke(entry.dcm, entry.slice, entry.attempt);
  if (entry.state == SliceState::waiting_writer)
    out.answer(entry.dcm, entry.slice, entry.attempt, Answer::refused);
  ++ledger_.copies_taken;
  confirmations_.take(entry, writer, ack);
  settle(entry, Outcome::stored, DiscardReason::none, out);
}

void SupervisorMachine::settle(SliceEntry& entry, Outcome outcome, DiscardReason reason, Actions& out) {
  switch (outcome) {
    case Outcome::stored:
      ledger_.stored.add(entry.slice);
      WEIR_ASSERT(entry.writer.value < ledger_.stored_by.size());
      ledger_.stored_by[entry.writer.value].add(entry.slice);
      if (entry.incomplete) ledger_.stored_incomplete.add(entry.slice);
      break;
    case Outcome::rejected:
      ledger_.rejected.add(entry.slice);
      break;
    case Outcome::discarded:
      WEIR_ASSERT(static_cast<std::size_t>(reason) < ledger_.discarded.size());
      ledger_.discarded[static_cast<std::size_t>(reason)].add(entry.slice);
      break;
  }
  if (!ledger_.groups.empty()) {
    note_settled(entry, outcome);
    end_keeping(entry, out);
  }
  if (outcome != Outcome::stored) confirmations_.not_stored(entry);
  clock_.slice_settled();
  const NodeIndex writer = outcome == Outcome::stored ? entry.writer : kNoNode;
  const bool incomplete = outcome == Outcome::stored && entry.incomplete;
  const bool kept =
      outcome == Outcome::rejected || (outcome == Outcome::stored && entry.state == SliceState::confirmed);
  out.cleared.push_back({entry.slice, entry.order, entry.attempt, entry.epoch, writer, outcome, reason,
                         incomplete, entry.info.time, kept ? entry.dcm : kNoNode});
  book_.settle(entry, outcome);
}

const SupervisorLedger& SupervisorMachine::ledger() {
  ledger_.open = book_.live();
  return ledger_;
}

}  // namespace weir::assignment
