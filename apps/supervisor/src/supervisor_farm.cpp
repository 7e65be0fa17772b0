// A farm that changes while it runs: what run control commands, and who is told of it.
#include "supervisor_node.hpp"
#include <weir/assignment/reasons.hpp>
#include <weir/node/absences.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weir::supervisor {

assignment::NodeRef SupervisorNode::ref(const Member& member) const { return {member.role, member.index}; }

void SupervisorNode::expect_absent() {
  for (const std::string& name : setup_.absent) {
    Member* member = roster_.find(name);
    if (member == nullptr)
      throw std::runtime_error("the farm has no node '" + name + "' that could be absent");
    member->absent = true;
    machine_.expect_later(ref(*member));
  }
}

void SupervisorNode::change_farm(const v1::Command& command) {
  // Once the run drains there is nothing left to hand out differently.
  if (state_ != State::gathering && state_ != State::running) {
    return spdlog::warn("command ignored kind={} reason=\"the run ends\"",
                        v1::Command::Kind_Name(command.kind()));
  }
  if (command.kind() == v1::Command::PAUSE || command.kind() == v1::Command::CONTINUE) {
    const bool pause = command.kind() == v1::Command::PAUSE;
    pause ? machine_.pause(now_ns_) : machine_.proceed(now_ns_);
    return spdlog::info("run {} reason=\"{}\"", pause ? "pauses" : "goes on", command.reason());
  }
  const bool drain = command.kind() == v1::Command::DRAIN;
  for (const std::string& name : command.nodes()) {
    Member* member = roster_.find(name);
    if (member == nullptr) {
      spdlog::warn("command ignored node={} reason=\"not in the plan of this farm\"", name);
      continue;
    }
    spdlog::info("{} name={} reason=\"{}\"", drain ? "drains" : "added", name, command.reason());
    drain ? machine_.remove(ref(*member), now_ns_) : machine_.add(ref(*member), now_ns_, actions_);
    directory_changed_ = true;
  }
}

const Member* SupervisorNode::member_of(assignment::NodeRef node) const {
  const auto& members = roster_.members();
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const Member& member) { return ref(member) == node; });
  return found == members.end() ? nullptr : &*found;
}

// Where a writer's disk is full as well it is that which people look for: mostly the two are one.
std::string SupervisorNode::throttle_state() const {
  const std::vector<assignment::HoldUp> held_up = machine_.throttled_by();
  if (held_up.empty() && journal_.waits()) {
    return assignment::blocked_state(assignment::name(assignment::Reason::supervisor_journal_full),
                                     setup_.self.name);
  }
  if (held_up.empty()) return "running";
  const Member* member = held_up.front().node ? member_of(*held_up.front().node) : nullptr;
  return assignment::throttled_state(held_up.front().reason,
                                     member == nullptr ? setup_.self.name : member->name);
}

// It has nothing left: its final report is taken as at the end of a run.
void SupervisorNode::let_go(assignment::NodeRef node) {
  const Member* found = member_of(node);
  if (found == nullptr || found->peer == nullptr) return;
  spdlog::info("let go name={}", found->name);
  send_end(*found->peer);
}

// Before any slice is assigned that it is for.
void SupervisorNode::tell_absences() {
  const std::uint32_t number = machine_.absences().number();
  if (std::exchange(absences_told_, number) == number) return;
  for (Member& member : roster_.members()) {
    if (member.role == Role::dcm && member.peer != nullptr) send_absences(*member.peer);
  }
}

void SupervisorNode::send_absences(messages::Peer& peer) {
  if (machine_.absences().number() == 0) return;
  v1::Control message;
  node::put_absences(machine_.absences().ranges(), *message.mutable_absences());
  peer.send(message);
}

// For people, at the end: the latest ones, of very many.
std::string SupervisorNode::absences_text() const {
  constexpr std::size_t kToldMax = 20;
  const auto& ranges = machine_.absences().ranges();
  const std::size_t first = ranges.size() > kToldMax ? ranges.size() - kToldMax : 0;
  std::string text = first > 0 ? "(" + std::to_string(first) + " earlier) " : "";
  for (std::size_t i = first; i < ranges.size(); ++i) {
    const assignment::AbsenceRange& range = ranges[i];
    const Member* member = member_of({Role::readout, range.readout});
    if (member == nullptr) continue;
    text += (i == first ? "" : "; ") + member->name + " from slice " + std::to_string(range.from.value);
    if (range.until != assignment::AbsenceRange::kOpen)
      text += " to " + std::to_string(range.until.value - 1);
  }
  return text;
}

// As run control wants it, where that is not simply to take part.
std::string SupervisorNode::state_of(const Member& member) const {
  switch (machine_.part(ref(member))) {
    case assignment::Part::in:
      if (member.role == Role::dcm && member.peer != nullptr && machine_.reach().is_cut_off(member.index))
        return "cut off from readouts that others reach";
      return member.report.state();
    case assignment::Part::draining:
      return "draining";
    default:
      return member.peer == nullptr ? "removed" : "removed, idle";
  }
}

}  // namespace weir::supervisor
