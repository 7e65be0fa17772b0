// A run that outlives its supervisor's process.
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>

namespace weir::assignment {
namespace {

constexpr DurationNs kDcmsReturn = 2 * kSecond;  // for the DCMs of the previous process

}  // namespace

void SupervisorMachine::resume(const RunState& state, DurationNs already, const Now& now, Actions& out) {
  WEIR_ASSERT(!clock_.started() && book_.live() == 0);
  ledger_ = state.ledger;
  ledger_.stored_by.resize(settings_.writers);
  ledger_.groups.resize(settings_.groups.size());
  for (std::size_t i = 0; i < settings_.groups.size(); ++i) ledger_.groups[i].name = settings_.groups[i].name;
  ++ledger_.restarts;
  ids_.resume(state.given, state.next_slice);
  start(now);
  reach_.wait_for_dcms(now.mono + kDcmsReturn);
  clock_.resume(already, state.begun_utc, state.shape.paused, state.shape.paused_ns);
  parts_.restore(state.shape);
  // Offers to a closed run were not the source's.
  const std::uint64_t foreign = ledger_.vetoed[static_cast<std::size_t>(VetoReason::closed)];
  source_->resume(ledger_.offered - foreign, clock_.begun());
  if (settings_.slices_max > 0 && ledger_.triggered.count >= settings_.slices_max) clock_.end_triggers();
  for (const GivenUpCopy& copy : state.given_up) confirmations_.given_up().add(copy);
  resumed_with_ = state.open.size();
  groups_.make_room(resumed_with_);
  for (const OpenSlice& open : state.open) resume_slice(open, out);
}

void SupervisorMachine::resume_slice(const OpenSlice& open, Actions& out) {
  SliceEntry* entry = book_.insert(open.slice, open.info, open.payload);
  WEIR_ASSERT(entry != nullptr);  // a state has each slice once
  entry->order = open.order;
  entry->attempt = open.attempt;
  entry->kills = open.kills;
  entry->losses = open.losses;
  entry->suspect = open.suspect;
  entry->refusals = open.refusals;
  entry->confirmations = open.confirmations;
  entry->epoch = open.epoch;
  entry->copy_attempt = open.copy_attempt;
  entry->copy_writer = open.copy_writer;
  entry->copy_incomplete = open.copy_incomplete;
  // A farm file that has fewer groups than at the run's begin.
  if (open.group.value < groups_.size()) entry->group = open.group;
  entry->arrived = open.arrived;
  book_.set_forwarded(*entry, open.forwarded);
  WaitingSlices& waiting = groups_[entry->group].waiting;
  out.announce.push_back({open.slice, open.order, open.info, 0, 0});
  if (!open.assigned) {
    waiting.add(open.slice, open.order);
    return;
  }
  if (entry->attempt.value == UINT16_MAX) {
    settle(*entry, Outcome::discarded, DiscardReason::attempts_exhausted, out);
    return;
  }
  entry->attempt = entry->attempt.next();
  ++ledger_.reopened;
  waiting.add(open.slice, open.order);
}

std::vector<Announcement> SupervisorMachine::open_slices() {
  std::vector<Announcement> open;
  book_.for_each_live([&](const SliceEntry& entry) {
    open.push_back({entry.slice, entry.order, entry.info, 0, 0});
  });
  std::sort(open.begin(), open.end(),
            [](const Announcement& a, const Announcement& b) { return a.order < b.order; });
  return open;
}

std::vector<SliceId> SupervisorMachine::settled_and_built() {
  std::vector<SliceId> slices;
  for (std::size_t dcm = 0; dcm < settings_.dcms; ++dcm) {
    for (const Lease& lease : dcms_.revoked_leases(NodeIndex(static_cast<std::uint16_t>(dcm)))) {
      const SliceEntry* entry = book_.find(lease.slice);
      if (entry == nullptr || !entry->live()) slices.push_back(lease.slice);
    }
  }
  return slices;
}

RunState SupervisorMachine::state(TimeNs now) {
  RunState state;
  state.shape = shape(now);
  state.ledger = ledger();
  state.next_slice = ids_.next();
  state.given = ids_.given().intervals();
  state.begun_utc = clock_.begun().utc;
  book_.for_each_live([&](const SliceEntry& entry) {
    OpenSlice& open = state.open.emplace_back();
    open.slice = entry.slice;
    open.order = entry.order;
    open.info = entry.info;
    if (entry.has_payload) {
      const ConstBytes payload = book_.payload(entry);
      open.payload.assign(payload.begin(), payload.end());
    }
    // A pending one waits for an attempt that no DCM has yet.
    open.assigned = entry.state != SliceState::pending || entry.attempt.value > 0;
    open.attempt = entry.attempt;
    open.kills = entry.kills;
    open.losses = entry.losses;
    open.suspect = entry.suspect;
    open.refusals = entry.refusals;
    open.confirmations = entry.confirmations;
    open.epoch = entry.epoch;
    open.copy_attempt = entry.copy_attempt;
    open.copy_writer = entry.copy_writer;
    open.copy_incomplete = entry.copy_incomplete;
    open.group = entry.group;
    open.arrived = entry.arrived;
    const ConstBytes forwarded = book_.forwarded(entry);
    open.forwarded.assign(forwarded.begin(), forwarded.end());
    if (entry.state == SliceState::confirmed) {
      state.given_up.push_back({entry.slice, entry.copy_writer, entry.epoch, false});
    }
  });
  std::sort(state.open.begin(), state.open.end(),
            [](const OpenSlice& a, const OpenSlice& b) { return a.order < b.order; });
  confirmations_.given_up().append(state.given_up);
  return state;
}

}  // namespace weir::assignment
