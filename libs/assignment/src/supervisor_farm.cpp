// What run control makes of the farm: pauses, nodes that are taken out and come back.
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {
namespace {}  // namespace

void SupervisorMachine::pause(TimeNs now) {
  if (paused_ || stopping_) return;
  paused_ = true;
  paused_since_ = now;
  ++shape_number_;
}

void SupervisorMachine::proceed(TimeNs now) {
  if (!paused_) return;
  paused_before_ = paused_ns(now);
  paused_ = false;
  ++shape_number_;
}

DurationNs SupervisorMachine::paused_ns(TimeNs now) const {
  return paused_before_ + (paused_ && started_ ? now - paused_since_ : 0);
}

bool SupervisorMachine::is_live(NodeRef node) const {
  if (node.role == Role::dcm) return dcms_.live(node.node);
  return (node.role == Role::readout ? readouts_ : writers_).live(node.node);
}

void SupervisorMachine::expect_later(NodeRef node) {
  WEIR_ASSERT(!started_ && !is_live(node));
  if (node.role == Role::readout && !absences_.is_out(node.node)) absences_.leave(node.node, SliceId(0));
}

void SupervisorMachine::remove(NodeRef node, TimeNs now) {
  PartState& state = parts_of(node.role)[node.node.value];
  if (state.part == Part::draining || (state.part == Part::leaving && !state.returns)) return;
  ++shape_number_;
  if (std::exchange(state.returns, false)) return;
  const bool was_in = state.part == Part::in;
  state.part = is_live(node) ? Part::draining : Part::out;
  if (state.part == Part::draining) next_look_ = now;
  if (!was_in) return;
  switch (node.role) {
    case Role::readout:
      if (!absences_.is_out(node.node)) absences_.leave(node.node, next_slice_);
      break;
    case Role::dcm:
      if (dcms_.live(node.node)) dcms_.hold_back(node.node);
      reach_.set_part(node.node, false);
      renew_destinations();
      break;
    case Role::writer:
      writers_.close(node.node, true);
      break;
    default:
      break;
  }
}

void SupervisorMachine::add(NodeRef node, TimeNs now, Actions& out) {
  PartState& state = parts_of(node.role)[node.node.value];
  if (state.part == Part::in || state.returns) return;
  ++shape_number_;
  if (state.part == Part::leaving) {
    state.returns = true;
    return;
  }
  state.part = Part::in;
  if (is_live(node)) take_in(node, now, out);
}

void SupervisorMachine::take_in(NodeRef node, TimeNs now, Actions& out) {
  switch (node.role) {
    case Role::readout:
      absences_.join(node.node, next_slice_);
      break;
    case Role::dcm:
      reach_.set_part(node.node, true);
      if (takes_slices(node.node)) dcms_.let_go(node.node);
      renew_destinations();
      assignable_ = true;
      break;
    case Role::writer:
      writers_.close(node.node, false);
      confirm_waiting(now, out);
      break;
    default:
      break;
  }
}

// Of a node that is gone now: it was to go, or it had nothing. One that still had to finish is a loss.
bool SupervisorMachine::leaves_in_peace(NodeRef node) {
  PartState& state = parts_of(node.role)[node.node.value];
  if (state.part == Part::in) return false;
  const bool had_work = state.part == Part::draining;
  state = {std::exchange(state.returns, false) ? Part::in : Part::out, false};
  return !had_work;
}

std::vector<NodeRef> SupervisorMachine::draining() const {
  std::vector<NodeRef> nodes;
  for (const Role role : kNodeRoles) {
    const auto& parts = parts_of(role);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].part == Part::draining) nodes.push_back({role, NodeIndex(static_cast<std::uint16_t>(i))});
    }
  }
  return nodes;
}

bool SupervisorMachine::has_work(NodeRef node, const SliceEntry& entry) const {
  switch (node.role) {
    case Role::readout:
      return !absences_.covers(node.node, entry.slice);
    case Role::dcm:
      return entry.dcm == node.node;
    case Role::writer:
      return entry.state == SliceState::confirmed && entry.writer == node.node;
    default:
      break;
  }
  return false;
}

// Copies that do not count, of slices that are not settled: the writer has to hear that first.
bool SupervisorMachine::may_have_copies(NodeIndex writer) {
  return given_up_.any_of(writer, [this](SliceId slice) {
    const SliceEntry* entry = book_.find(slice);
    return entry != nullptr && entry->live();
  });
}

void SupervisorMachine::look_at_drains(TimeNs now, Actions& out) {
  std::vector<NodeRef> done = draining();
  next_look_ = done.empty() ? INT64_MAX : now + settings_.drain_look_ns;
  if (done.empty()) return;
  std::erase_if(done,
                [this](NodeRef node) { return node.role == Role::writer && may_have_copies(node.node); });
  book_.for_each_live([&](const SliceEntry& entry) {
    std::erase_if(done, [&](NodeRef node) { return has_work(node, entry); });
  });
  for (const NodeRef node : done) {
    parts_of(node.role)[node.node.value].part = Part::leaving;
    out.leaving.push_back(node);
  }
}

FarmShape SupervisorMachine::shape(TimeNs now) const {
  FarmShape shape;
  for (const Role role : kNodeRoles) {
    const auto& parts = parts_of(role);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].part != Part::in && !parts[i].returns)
        shape.removed.push_back({role, NodeIndex(static_cast<std::uint16_t>(i))});
    }
  }
  shape.absences = absences_.ranges();
  shape.paused = paused_;
  shape.paused_ns = paused_ns(now);
  return shape;
}

std::string_view SupervisorMachine::broken_parts() {
  std::string_view broken;
  for (const Role role : kNodeRoles) {
    const auto& parts = parts_of(role);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const NodeRef node{role, NodeIndex(static_cast<std::uint16_t>(i))};
      // A readout that died while it drained had work to the last.
      const bool gone = parts[i].part == Part::out && role != Role::readout;
      if (parts[i].part != Part::leaving && !gone) continue;
      book_.for_each_live([&](const SliceEntry& entry) {
        if (has_work(node, entry)) broken = "a node that was let go has a slice";
      });
      if (role == Role::dcm && dcms_.views()[i].credits_free > 0)
        broken = "a DCM that was let go has credits";
    }
  }
  return broken;
}

}  // namespace weir::assignment
