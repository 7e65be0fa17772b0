#include <weir/assignment/supervisor_machine.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>

#include <algorithm>

namespace weir::assignment {

void SupervisorMachine::dcm_joined(NodeIndex dcm, Incarnation incarnation, std::uint32_t credits, TimeNs now,
                                   Actions& out) {
  WEIR_ASSERT(dcm.value < settings_.dcms);
  if (dcms_.live(dcm)) dcm_left(dcm, now, out);
  dcms_.join(dcm, incarnation, std::min(credits, settings_.credits_max));
  reach_.set_part(dcm, parts_.takes_part(Role::dcm, dcm));
  if (!takes_slices(dcm)) dcms_.hold_back(dcm);
  groups_[groups_.of(dcm)].placement.joined(dcm);
  renew_destinations();
  groups_.look_again();
}

void SupervisorMachine::dcm_left(NodeIndex dcm, TimeNs now, Actions& out, bool reported) {
  if (!dcms_.live(dcm)) return;
  const Incarnation incarnation = dcms_.incarnation(dcm);
  const Part part = parts_.of({Role::dcm, dcm});
  const bool cut_short = (part == Part::leaving || part == Part::returning) && !reported;
  const bool in_peace = parts_.left({Role::dcm, dcm}) && !cut_short;
  const FilterNote in_filter = dcms_.in_filter(dcm);
  out.drop(dcm);
  dcms_.leave(dcm);
  reach_.forget(dcm);
  reach_news_.forget(dcm);
  renew_destinations();
  pressure_.forget({Role::dcm, dcm});
  if (groups_.split()) {
    book_.for_each_live([dcm](SliceEntry& entry) {
      if (entry.kept_by == dcm) entry.kept_by = kNoNode;
    });
  }
  book_.collect(scratch_, [dcm](const SliceEntry& entry) {
    return entry.dcm == dcm && !(planted(Planted::lose_lease) && entry.slice.value % 4 == 1);
  });
  const std::uint64_t slices = scratch_.size();
  for (auto slice = scratch_.rbegin(); slice != scratch_.rend(); ++slice) {
    SliceEntry& entry = *book_.find(*slice);
    reopen(entry, blame_.of_death(entry, in_filter), out);
  }
  // Even when all slices are settled: messages about them, also from writers, may be lost with it.
  if (clock_.started() && !in_peace)
    faults_.note({FaultKind::left, Role::dcm, dcm, incarnation, now, slices});
  groups_.look_again();
}

void SupervisorMachine::readout_joined(NodeIndex readout, Incarnation incarnation, TimeNs now) {
  WEIR_ASSERT(readout.value < settings_.readouts);
  readout_left(readout, now);
  readouts_.join(readout, incarnation);
  reach_.readout_joined(readout, now);
  parts_.readout_joined(readout, next_order());
}

void SupervisorMachine::readout_left(NodeIndex readout, TimeNs now) {
  if (!readouts_.live(readout)) return;
  readouts_.leave(readout);
  pressure_.forget({Role::readout, readout});
  const bool in_peace = parts_.left({Role::readout, readout});
  if (in_progress() && !in_peace) {
    faults_.note({FaultKind::left, Role::readout, readout, readouts_.incarnation(readout), now, 0});
  }
}

void SupervisorMachine::writer_joined(NodeIndex writer, Incarnation incarnation, TimeNs now, Actions& out) {
  WEIR_ASSERT(writer.value < settings_.writers);
  writer_left(writer, now, out);
  writers().join(writer, incarnation);
  writers().close(writer, !parts_.takes_part(Role::writer, writer));
  reach_.writer_joined(writer, now);
  confirm_waiting(now, out);
}

void SupervisorMachine::writer_left(NodeIndex writer, TimeNs now, Actions& out) {
  if (!writers().live(writer)) return;
  const bool run_in_progress = in_progress();
  const bool in_peace = parts_.left({Role::writer, writer});
  writers().leave(writer);
  pressure_.forget({Role::writer, writer});
  book_.collect(scratch_, [writer](const SliceEntry& entry) {
    return entry.state == SliceState::confirmed && entry.writer == writer;
  });
  const std::uint64_t slices = scratch_.size();
  for (const SliceId slice : scratch_) {
    ++ledger_.reconfirmed;
    confirmations_.give_up(*book_.find(slice));
    confirm_accept(*book_.find(slice), now, out);
  }
  if (run_in_progress && !in_peace)
    faults_.note({FaultKind::left, Role::writer, writer, writers().incarnation(writer), now, slices});
}

void SupervisorMachine::confirm_waiting(TimeNs now, Actions& out) {
  book_.collect(scratch_, [](const SliceEntry& entry) { return entry.state == SliceState::waiting_writer; });
  for (const SliceId slice : scratch_) confirm_accept(*book_.find(slice), now, out);
}

void SupervisorMachine::filtering(NodeIndex dcm, const FilterNote& note, TimeNs now) {
  if (!dcms_.live(dcm)) {
    ++ledger_.strangers;
    return;
  }
  dcms_.note_filter(dcm, note, now);
  if (!note.for_long.empty()) leases_.noted(groups_.of(dcm), now);
}

void SupervisorMachine::filter_killed(NodeIndex dcm, std::span<const FilterKill> kills, Actions& out) {
  if (!dcms_.live(dcm)) {
    ++ledger_.strangers;
    return;
  }
  for (const FilterKill& kill : kills) {
    SliceEntry* entry = book_.find(kill.slice);
    if (entry == nullptr || entry->state != SliceState::assigned || entry->dcm != dcm ||
        entry->attempt != kill.attempt) {
      continue;
    }
    blame_.killed(*entry, kill.number);
    out.killed.push_back({entry->slice, entry->kills});
  }
}

void SupervisorMachine::reopen(SliceEntry& entry, Blame blame, Actions& out) {
  WEIR_ASSERT(entry.live() && entry.state != SliceState::pending);
  confirmations_.give_up(entry);
  if (!blame_.try_again(entry, blame))
    return settle(entry, Outcome::discarded, DiscardReason::attempts_exhausted, out);
  entry.attempt = entry.attempt.next();
  enter(entry, SliceState::pending);
  entry.dcm = kNoNode;
  entry.writer = kNoNode;
  groups_[entry.group].waiting.put_back(entry.slice, entry.order);
  out.reopened.push_back({entry.slice, entry.kills, entry.losses, entry.suspect, entry.refusals});
  ++ledger_.reopened;
}

void SupervisorMachine::expire(TimeNs now, Actions& out) {
  if (clock_.drained_too_long(now) && book_.live() > 0) discard_rest(DiscardReason::drain_timeout, out);
  if (now >= leases_.next_look()) expire_leases(now, out);
}

void SupervisorMachine::expire_leases(TimeNs now, Actions& out) {
  leases_.begin_look();
  book_.collect(scratch_,
                [&](const SliceEntry& entry) { return leases_.run_out(entry, dcms_, writers(), now); });
  std::vector<std::uint64_t> by_dcm(settings_.dcms, 0);
  std::vector<std::uint64_t> by_writer(settings_.writers, 0);
  for (auto slice = scratch_.rbegin(); slice != scratch_.rend(); ++slice) {
    SliceEntry& entry = *book_.find(*slice);
    if (entry.state == SliceState::assigned) {
      ++ledger_.leases_expired;
      WEIR_ASSERT(entry.dcm.value < by_dcm.size());
      ++by_dcm[entry.dcm.value];
      dcms_.revoke(entry.dcm, entry.slice, entry.attempt);
      const bool in_filter_for_long = dcms_.noted_at(entry.dcm, {entry.slice, entry.attempt}).has_value();
      reopen(entry, blame_.of_expiry(entry, in_filter_for_long), out);
    } else {
      ++ledger_.reconfirmed;
      WEIR_ASSERT(entry.writer.value < by_writer.size());
      ++by_writer[entry.writer.value];
      confirm_elsewhere(entry, now, out);
    }
  }
  for (std::size_t i = 0; i < by_dcm.size(); ++i) {
    const NodeIndex dcm(static_cast<std::uint16_t>(i));
    if (by_dcm[i] > 0)
      faults_.note({FaultKind::stalled, Role::dcm, dcm, dcms_.incarnation(dcm), now, by_dcm[i]});
  }
  for (std::size_t i = 0; i < by_writer.size(); ++i) {
    const NodeIndex writer(static_cast<std::uint16_t>(i));
    if (by_writer[i] == 0) continue;
    faults_.note(
        {FaultKind::stalled, Role::writer, writer, writers().incarnation(writer), now, by_writer[i]});
  }
}

// Prefers a writer other than the one that did not answer.
void SupervisorMachine::confirm_elsewhere(SliceEntry& entry, TimeNs now, Actions& out) {
  confirmations_.give_up(entry);
  confirm_accept(entry, now, out, entry.writer);
}

void SupervisorMachine::abandon(TimeNs now, Actions& out) {
  clock_.stop(now);
  discard_rest(DiscardReason::supervisor_restart, out);
}

void SupervisorMachine::discard_rest(DiscardReason reason, Actions& out) {
  groups_.clear();
  book_.collect(scratch_, [](const SliceEntry&) { return true; });
  for (const SliceId slice : scratch_) {
    SliceEntry& entry = *book_.find(slice);
    confirmations_.give_up(entry);
    if (entry.state == SliceState::assigned) dcms_.revoke(entry.dcm, entry.slice, entry.attempt);
    if (entry.state == SliceState::waiting_writer) {
      out.answer(entry.dcm, entry.slice, entry.attempt, Answer::refused);
    }
    settle(entry, Outcome::discarded, reason, out);
  }
}

}  // namespace weir::assignment
