// Decides which nodes receive slices and copies: by run control's commands and by the nodes' connectivity.
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {

bool SupervisorMachine::is_live(NodeRef node) const {
  if (node.role == Role::dcm) return dcms_.live(node.node);
  return (node.role == Role::readout ? readouts_ : writers()).live(node.node);
}

void SupervisorMachine::expect_later(NodeRef node) {
  WEIR_ASSERT(!clock_.started() && !is_live(node));
  if (node.role == Role::readout) parts_.expect_later(node.node);
}

void SupervisorMachine::remove(NodeRef node, TimeNs now) {
  if (!parts_.remove(node, is_live(node), next_order(), now)) return;
  if (node.role == Role::writer) writers().close(node.node, true);
  if (node.role != Role::dcm) return;
  if (dcms_.live(node.node)) dcms_.hold_back(node.node);
  reach_.set_part(node.node, false);
  renew_destinations();
}

void SupervisorMachine::add(NodeRef node, TimeNs now, Actions& out) {
  const bool live = is_live(node);
  if (!parts_.add(node, live, next_order()) || !live) return;
  if (node.role == Role::writer) {
    writers().close(node.node, false);
    confirm_waiting(now, out);
  }
  if (node.role != Role::dcm) return;
  reach_.set_part(node.node, true);
  if (takes_slices(node.node)) dcms_.let_go(node.node);
  renew_destinations();
  groups_.look_again();
}

void SupervisorMachine::was_told_to_end(NodeRef node, Actions& out) {
  WEIR_ASSERT(!is_live(node));
  parts_.was_told_to_end(node);
  out.leaving.push_back(node);
}

// Dead copies of unsettled slices: the writer has to receive their fate first.
bool SupervisorMachine::may_have_copies(NodeIndex writer) {
  return confirmations_.given_up().any_of(writer, [this](SliceId slice) {
    const SliceEntry* entry = book_.find(slice);
    return entry != nullptr && entry->live();
  });
}

void SupervisorMachine::look_at_drains(TimeNs now, Actions& out) {
  std::vector<NodeRef> done = parts_.look(now, settings_.drain_look_ns);
  if (done.empty()) return;
  std::erase_if(done,
                [this](NodeRef node) { return node.role == Role::writer && may_have_copies(node.node); });
  book_.for_each_live([&](const SliceEntry& entry) {
    std::erase_if(done, [&](NodeRef node) { return parts_.has_work(node, entry); });
  });
  for (const NodeRef node : done) {
    parts_.let_go(node);
    out.leaving.push_back(node);
  }
}

FarmShape SupervisorMachine::shape(TimeNs now) const {
  FarmShape shape;
  shape.removed = parts_.removed();
  shape.absences = parts_.absences().ranges();
  shape.paused = clock_.paused();
  shape.paused_ns = clock_.paused_ns(now);
  return shape;
}

void SupervisorMachine::reach(NodeIndex dcm, std::span<const NodeIndex> readouts,
                              std::span<const NodeIndex> writers, TimeNs now) {
  if (!dcms_.live(dcm)) {
    ++ledger_.strangers;
    return;
  }
  reach_.set_part(dcm, parts_.takes_part(Role::dcm, dcm));
  reach_.report(dcm, readouts, writers, now);
}

void SupervisorMachine::judge_reach(TimeNs now, Actions& out) {
  reach_.judge(now);
  for (const NodeIndex dcm : reach_.changed()) {
    if (dcms_.live(dcm)) follow_verdict(dcm, now, out);
  }
  if (reach_.changed().empty()) return;
  for (const ReachNews::Outage& outage : reach_news_.take_outages(reach_)) {
    const NodeIndex readout = outage.readout;
    // A process that is gone was named when it left.
    const bool is_told = outage.lasted || (in_progress() && readouts_.live(readout));
    if (!is_told) {
      reach_news_.withdraw(readout);
      continue;
    }
    faults_.note({FaultKind::down,
                  Role::readout,
                  readout,
                  readouts_.incarnation(readout),
                  outage.since,
                  0,
                  {},
                  outage.lasted.value_or(0)});
  }
}

void SupervisorMachine::follow_verdict(NodeIndex dcm, TimeNs now, Actions& out) {
  if (std::find(out.judged.begin(), out.judged.end(), dcm) == out.judged.end()) out.judged.push_back(dcm);
  if (reach_news_.changed(dcm, reach_)) {
    if (takes_slices(dcm)) {
      dcms_.let_go(dcm);
    } else {
      dcms_.hold_back(dcm);
    }
    renew_destinations();
    groups_.look_again();
  }
  for (ReachNews::News& news : reach_news_.take(dcm, reach_)) {
    if (in_progress())
      faults_.note(
          {news.kind, Role::dcm, dcm, dcms_.incarnation(dcm), now, news.slices, std::move(news.readouts)});
  }
  leave_writers(dcm, now, out);
}

// Moves confirmations away from writers that this DCM cannot reach, as if these had not answered.
void SupervisorMachine::leave_writers(NodeIndex dcm, TimeNs now, Actions& out) {
  const auto lost = reach_.writers_lost(dcm);
  for (const NodeIndex writer : reach_news_.take_writers_lost(dcm, reach_)) {
    if (!writers().live(writer)) continue;
    std::uint64_t moved = 0;
    if (writers().has_other(writer, lost)) {
      book_.collect(scratch_, [&](const SliceEntry& entry) {
        return entry.state == SliceState::confirmed && entry.dcm == dcm && entry.writer == writer;
      });
      moved = scratch_.size();
      for (const SliceId slice : scratch_) {
        ++ledger_.reconfirmed;
        confirm_elsewhere(*book_.find(slice), now, out);
      }
    }
    if (in_progress())
      faults_.note({FaultKind::no_writer, Role::dcm, dcm, dcms_.incarnation(dcm), now, moved, {writer}});
  }
}

}  // namespace weir::assignment
