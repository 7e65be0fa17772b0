// What run control makes of the farm: nodes that are taken out and come back.
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>

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
  if (!parts_.remove(node, is_live(node), ids_.next(), now)) return;
  if (node.role == Role::writer) writers().close(node.node, true);
  if (node.role != Role::dcm) return;
  if (dcms_.live(node.node)) dcms_.hold_back(node.node);
  reach_.set_part(node.node, false);
  renew_destinations();
}

void SupervisorMachine::add(NodeRef node, TimeNs now, Actions& out) {
  const bool live = is_live(node);
  if (!parts_.add(node, live, ids_.next()) || !live) return;
  if (node.role == Role::writer) {
    writers().close(node.node, false);
    confirm_waiting(now, out);
  }
  if (node.role != Role::dcm) return;
  reach_.set_part(node.node, true);
  if (takes_slices(node.node)) dcms_.let_go(node.node);
  renew_destinations();
  waiting_.look_again();
}

// Copies that do not count, of slices that are not settled: the writer has to hear that first.
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

std::string_view SupervisorMachine::broken_parts() {
  std::string_view broken;
  parts_.for_each([&](NodeRef node, Part part) {
    // A readout that died while it drained had work to the last.
    const bool gone = part == Part::out && node.role != Role::readout;
    if (part != Part::leaving && part != Part::returning && !gone) return;
    book_.for_each_live([&](const SliceEntry& entry) {
      if (parts_.has_work(node, entry)) broken = "a node that was let go has a slice";
    });
    if (node.role == Role::dcm && dcms_.views()[node.node.value].credits_free > 0)
      broken = "a DCM that was let go has credits";
  });
  return broken;
}

}  // namespace weir::assignment
