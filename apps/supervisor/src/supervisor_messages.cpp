// What nodes, watchers and run control say to the supervisor.
#include "supervisor_node.hpp"
#include <weir/wire/batch.hpp>

#include <spdlog/spdlog.h>

namespace weir::supervisor {
namespace {

Role assignment_role(Role role) {
  if (role == Role::dcm) return Role::dcm;
  return role == Role::writer ? Role::writer : Role::readout;
}

}  // namespace

wire::Placement SupervisorNode::on_header(messages::Peer& peer, const wire::FrameHeader& header) {
  const bool good = header.type == wire::FrameType::stored && peer.info().role == Role::writer;
  return good ? wire::Placement{wire::Placement::Kind::whole, nullptr} : wire::Placement{};
}

Expected<void, wire::WireError> SupervisorNode::on_frame(messages::Peer& peer,
                                                         const wire::FrameHeader& header,
                                                         ConstBytes payload) {
  if (!wire::payload_checksum_good(header, payload))
    return Unexpected<wire::WireError>(wire::WireError::bad_checksum);
  const auto entries = wire::parse_slice_entries(payload);
  if (!entries) return Unexpected<wire::WireError>(entries.error());
  acknowledged_.clear();
  for (const wire::SliceEntry& entry : *entries)
    acknowledged_.push_back({entry.slice, entry.attempt, entry.epoch});
  machine_.stored(peer.info().index, acknowledged_, actions_);
  return {};
}

Expected<void, wire::WireError> SupervisorNode::on_control(messages::Peer& peer, const v1::Control& message) {
  const Role role = peer.info().role;
  if (role == Role::control && message.has_command()) {
    on_command(message.command());
    return {};
  }
  if (role == Role::trigger && message.has_trigger()) {
    take_triggers(peer, message.trigger());
    return {};
  }
  Member* member = roster_.find(peer);
  if (member == nullptr) return Unexpected<wire::WireError>(wire::WireError::not_expected);
  member->heard_ns = now_ns_;
  switch (message.body_case()) {
    case v1::Control::kReport:
      member->report = message.report();
      member->report.set_name(member->name);  // who it is, is known from the hello
      member->report.set_role(static_cast<v1::Role>(member->role));
      member->report.set_index(member->index.value);
      member->report.set_incarnation(member->incarnation.value);
      member->has_report = true;
      if (member->report.final()) journal_.write_report(member->report);
      ports_changed_ = ports_changed_ || member->role == Role::dcm;
      return {};
    case v1::Control::kThrottle:
      machine_.throttle(assignment_role(role), member->index, message.throttle().on(),
                        message.throttle().reason(), message.throttle().level());
      return {};
    case v1::Control::kDecide:
      if (role == Role::dcm) return take_decisions(*member, message.decide());
      break;
    case v1::Control::kFiltering:
      if (role == Role::dcm) return take_filtering(*member, message.filtering());
      break;
    case v1::Control::kReach:
      if (role == Role::dcm) return take_reach(*member, message.reach());
      break;
    default:
      break;
  }
  return Unexpected<wire::WireError>(wire::WireError::not_expected);
}

Expected<void, wire::WireError> SupervisorNode::take_decisions(Member& member, const v1::Decide& decide) {
  const int rows = decide.slice_size();
  if (decide.verdict_size() != rows || (decide.attempt_size() != 0 && decide.attempt_size() != rows)) {
    return Unexpected<wire::WireError>(wire::WireError::bad_payload);
  }
  decisions_.clear();
  for (int i = 0; i < rows; ++i) {
    assignment::Decision decision;
    decision.slice = SliceId(decide.slice(i));
    if (decide.attempt_size() != 0) decision.attempt = Attempt(static_cast<std::uint16_t>(decide.attempt(i)));
    const auto verdict = decide.verdict(i);
    decision.incomplete =
        verdict == v1::VERDICT_ACCEPT_INCOMPLETE || verdict == v1::VERDICT_REJECT_INCOMPLETE;
    if (verdict == v1::VERDICT_ACCEPT || verdict == v1::VERDICT_ACCEPT_INCOMPLETE) {
      decision.verdict = assignment::Verdict::accept;
    } else if (verdict == v1::VERDICT_HELD) {
      decision.verdict = assignment::Verdict::held;
    } else if (verdict == v1::VERDICT_FAILED) {
      decision.verdict = assignment::Verdict::failed;
      decision.reason = assignment::DiscardReason::unspecified;
    }
    decisions_.push_back(decision);
  }
  for (const v1::Decide::Failure& failure : decide.failures()) {
    if (failure.index() < decisions_.size()) {
      decisions_[failure.index()].reason = assignment::discard_reason(failure.reason());
    }
  }
  machine_.decisions(member.index, decisions_, now_ns_, actions_);
  return {};
}

Expected<void, wire::WireError> SupervisorNode::take_filtering(Member& member,
                                                               const v1::Filtering& filtering) {
  if (filtering.attempt_size() != filtering.slice_size())
    return Unexpected<wire::WireError>(wire::WireError::bad_payload);
  const auto lease = [](std::uint64_t slice, std::uint32_t attempt) {
    return assignment::Lease{SliceId(slice), Attempt(static_cast<std::uint16_t>(attempt))};
  };
  assignment::FilterNote note;
  for (int i = 0; i < filtering.slice_size(); ++i)
    note.for_long.push_back(lease(filtering.slice(i), filtering.attempt(i)));
  if (filtering.has_alone()) note.alone = lease(filtering.alone(), filtering.alone_attempt());
  machine_.filtering(member.index, note, now_ns_);
  v1::Control answer;
  answer.mutable_filtering()->set_serial(filtering.serial());
  member.peer->send(answer);
  return {};
}

void SupervisorNode::take_triggers(messages::Peer& peer, const v1::TriggerOffer& offer) {
  v1::Control answer;
  for (const v1::TriggerOffer::One& one : offer.triggers()) {
    assignment::TriggerOffer trigger;
    if (one.has_slice()) trigger.slice = SliceId(one.slice());
    trigger.info.time = one.time_ns();
    trigger.info.type = TriggerType(one.type());
    trigger.payload =
        ConstBytes(reinterpret_cast<const std::byte*>(one.payload().data()), one.payload().size());
    v1::TriggerAnswer::One& out = *answer.mutable_trigger_answer()->add_answers();
    if (state_ != State::running) {
      out.set_busy(state_ == State::gathering ? "not_running" : "draining");
      continue;
    }
    const assignment::OfferResult result = machine_.offer(trigger, now(), actions_);
    out.set_taken(result.taken);
    out.set_slice(result.slice.value);
    if (!result.taken) out.set_busy(std::string(assignment::name(result.reason)));
  }
  peer.send(answer);
}

void SupervisorNode::on_command(const v1::Command& command) {
  switch (command.kind()) {
    case v1::Command::SHUTDOWN:
      if (!account_) return;
      account_awaited_ = false;
      account_until_ns_ = now_ns_;
      return;
    case v1::Command::STOP:
      return stop(command.reason().empty() ? "stopped" : command.reason());
    case v1::Command::PAUSE:
    case v1::Command::CONTINUE:
    case v1::Command::DRAIN:
    case v1::Command::ADD:
      return change_farm(command);
    default:
      return;
  }
}

void SupervisorNode::on_signal(std::string_view signal_name) {
  if (state_ == State::running) return stop(std::string(signal_name));
  if (state_ == State::gathering || state_ == State::reporting) {
    failure_ = "ended by " + std::string(signal_name);
    state_ = State::done;
  }
}

}  // namespace weir::supervisor
