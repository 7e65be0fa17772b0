// Slices that go from one group of DCMs to another.
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {
namespace {

// Of a planted bug.
void clear_early(const SliceEntry& entry, Actions& out) {
  out.cleared.push_back({entry.slice, entry.order, entry.attempt, entry.epoch, kNoNode, Outcome::discarded,
                         DiscardReason::unspecified, false});
}

}  // namespace

// Kills count per group, because each has a filter of its own. A copy of an earlier attempt that is still on
// its way to a disk is dead from now on.
void SupervisorMachine::forward(SliceEntry& entry, const AttemptDecision& decision, Actions& out) {
  const bool allowed = groups_[entry.group].may_forward_to(decision.group) &&
                       decision.bytes.size() <= settings_.forward_bytes_max;
  const bool kept = allowed && decision.kept && groups_[decision.group].settings.fetches;
  out.answer(entry.dcm, entry.slice, entry.attempt, kept ? Answer::keep : Answer::settled);
  end_keeping(entry, out);
  if (!allowed) return settle(entry, Outcome::discarded, DiscardReason::unspecified, out);
  ledger_.groups[entry.group.value].forwarded.add(entry.slice);
  ledger_.groups[decision.group.value].arrived.add(entry.slice);
  entry.group = decision.group;
  entry.arrived = true;
  if (kept) {
    entry.kept_by = entry.dcm;
    entry.kept_attempt = entry.attempt;
  }
  book_.set_forwarded(entry, decision.bytes);
  if (entry.attempt.value == UINT16_MAX)
    return settle(entry, Outcome::discarded, DiscardReason::attempts_exhausted, out);
  entry.attempt = entry.attempt.next();
  enter(entry, SliceState::pending);
  entry.dcm = kNoNode;
  entry.writer = kNoNode;
  entry.copy_writer = kNoNode;
  entry.kills = entry.losses = 0;
  entry.suspect = entry.held = entry.incomplete = false;
  if (!(planted(Planted::lose_forward) && entry.slice.value % 8 == 3))
    groups_[entry.group].waiting.add(entry.slice, entry.order);
  if (planted(Planted::clear_forwarded) && entry.slice.value % 8 == 6) clear_early(entry, out);
  WEIR_ASSERT(out.payload.size() + decision.bytes.size() <= UINT32_MAX);
  out.forwarded.push_back({entry.slice, entry.attempt, entry.group,
                           static_cast<std::uint32_t>(out.payload.size()),
                           static_cast<std::uint32_t>(decision.bytes.size())});
  out.payload.insert(out.payload.end(), decision.bytes.begin(), decision.bytes.end());
}

void SupervisorMachine::end_keeping(SliceEntry& entry, Actions& out) {
  if (entry.kept_by == kNoNode) return;
  out.answer(std::exchange(entry.kept_by, kNoNode), entry.slice, entry.kept_attempt, Answer::settled);
}

void SupervisorMachine::fetched(NodeIndex dcm, std::span<const Lease> slices, Actions& out) {
  if (!dcms_.live(dcm)) {
    ++ledger_.strangers;
    return;
  }
  for (const Lease& lease : slices) {
    SliceEntry* entry = book_.find(lease.slice);
    if (entry == nullptr || entry->state != SliceState::assigned || entry->dcm != dcm ||
        entry->attempt != lease.attempt || entry->kept_by == kNoNode)
      continue;
    ledger_.groups[entry->group.value].fetched.add(entry->slice);
    out.fetched.push_back(entry->slice);
    end_keeping(*entry, out);
    if (planted(Planted::clear_fetched)) clear_early(*entry, out);
  }
}

void SupervisorMachine::note_assigned(SliceEntry& entry) {
  GroupLedger& group = ledger_.groups[entry.group.value];
  if (entry.arrived) group.assigned.add(entry.slice);
  if (!entry.arrived && entry.attempt.value > 0) ++group.reassigned;
  entry.arrived = false;
}

void SupervisorMachine::note_settled(const SliceEntry& entry, Outcome outcome) {
  GroupLedger& group = ledger_.groups[entry.group.value];
  if (entry.arrived) group.settled_waiting.add(entry.slice);
  switch (outcome) {
    case Outcome::stored:
      return group.stored.add(entry.slice);
    case Outcome::rejected:
      return group.rejected.add(entry.slice);
    case Outcome::discarded:
      return group.discarded.add(entry.slice);
  }
}

double SupervisorMachine::group_level() const {
  if (!groups_.split()) return 0;
  const GroupIndex fullest = groups_.fullest(settings_.pending_max);
  return fullest == GroupIndex(0) ? 0 : groups_.level(fullest, settings_.pending_max);
}

}  // namespace weir::assignment
