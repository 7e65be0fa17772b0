// Messages from nodes, watchers and run control to the supervisor.
#include "supervisor_node.hpp"
#include <weir/node/refused.hpp>
#include <weir/reports/filter_histograms.hpp>
#include <weir/slice_codec/decide.hpp>
#include <weir/slice_codec/fetch.hpp>
#include <weir/slice_codec/filtering.hpp>
#include <weir/slice_codec/tables.hpp>
#include <weir/slice_rows/reasons.hpp>
#include <weir/wire/batch.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weir::supervisor {
namespace {

constexpr std::uint64_t kLimitMsMax = 10ULL * 365 * 24 * 3600 * 1000;

Unexpected<wire::WireError> not_expected() {
  return Unexpected<wire::WireError>(wire::WireError::not_expected);
}

}  // namespace

wire::PayloadPlace SupervisorNode::on_header(sessions::Peer& peer, const wire::FrameHeader& header) {
  const bool good = header.type == wire::FrameType::stored && peer.info().role == Role::writer;
  return good ? wire::PayloadPlace{wire::PayloadPlace::Kind::whole, nullptr} : wire::PayloadPlace{};
}

Expected<void, wire::WireError> SupervisorNode::on_frame(sessions::Peer& peer,
                                                         const wire::FrameHeader& header,
                                                         ConstBytes payload) {
  if (!wire::payload_checksum_good(header, payload))
    return Unexpected<wire::WireError>(wire::WireError::bad_checksum);
  const auto entries = wire::parse_slice_entries(payload);
  if (!entries) return Unexpected<wire::WireError>(entries.error());
  machine_.stored(peer.info().index, *entries, actions_);
  return {};
}

Expected<void, wire::WireError> SupervisorNode::on_control(sessions::Peer& peer, const v1::Control& message) {
  const Role role = peer.info().role;
  if (role == Role::control && message.has_command()) {
    on_command(message.command());
    return {};
  }
  if (role == Role::trigger && message.has_trigger()) {
    take_triggers(peer, message.trigger());
    return {};
  }
  RosterMember* member = roster_.find(peer);
  if (member == nullptr) return not_expected();
  member->heard_ns = now_ns_;
  return take(*member, message);
}

Expected<void, wire::WireError> SupervisorNode::take(RosterMember& member, const v1::Control& message) {
  switch (message.body_case()) {
    case v1::Control::kReport:
      return take_report(member, message.report());
    case v1::Control::kBegun:
      if (member.role == Role::writer || !(course_.is_beginning() || course_.has_begun()))
        return not_expected();
      take_begun(member, message.begun());
      return {};
    case v1::Control::kThrottle:
      machine_.throttle(member.role, member.index, message.throttle().on(), message.throttle().reason(),
                        message.throttle().level());
      return {};
    case v1::Control::kSeen:
      if (member.role != Role::readout || !numbers_) return not_expected();
      member.brings_no_number = false;
      return take_seen(member, message.seen());
    case v1::Control::kOutOfStep:
      return member.role == Role::readout ? take_steps(member, message.out_of_step()) : not_expected();
    default:
      return member.role == Role::dcm ? take_of_dcm(member, message) : not_expected();
  }
}

Expected<void, wire::WireError> SupervisorNode::take_of_dcm(RosterMember& dcm, const v1::Control& message) {
  switch (message.body_case()) {
    case v1::Control::kDecide: {
      const auto taken = slice_codec::decode(message.decide(), decisions_);
      if (!taken) return node::refused(taken.error());
      machine_.decisions(dcm.index, decisions_, now_ns_, actions_);
      return {};
    }
    case v1::Control::kFiltering:
      return take_filtering(dcm, message.filtering());
    case v1::Control::kFilterKills: {
      const auto kills = slice_codec::decode(message.filter_kills());
      if (!kills) return node::refused(kills.error());
      machine_.filter_killed(dcm.index, *kills, actions_);
      return {};
    }
    case v1::Control::kFetched: {
      const auto slices = slice_codec::decode(message.fetched());
      if (!slices) return node::refused(slices.error());
      machine_.fetched(dcm.index, *slices, actions_);
      return {};
    }
    case v1::Control::kBurstAccount:
      bursts_.told(dcm, message.burst_account());
      return {};
    case v1::Control::kReach:
      return take_reach(dcm, message.reach());
    default:
      return not_expected();
  }
}

Expected<void, wire::WireError> SupervisorNode::take_report(RosterMember& member, const v1::Report& report) {
  // Only contents that are sound, and of a DCM, may end the run: see take_histograms().
  const auto& booked = report.filter_histograms();
  const auto bad = std::ranges::find_if(booked, [&](const v1::FilterHistogram& one) {
    return member.role != Role::dcm || !reports::booking_of(one);
  });
  if (bad != booked.end()) {
    const auto row = static_cast<std::size_t>(bad - booked.begin());
    return node::refused({"Report", "filter_histograms", row});
  }
  if (roster_.take_report(member, report)) dispatch_.ports_changed();
  if (!booked.empty()) take_histograms(member);
  if (member.report.final()) write_report(member);
  return {};
}

// Contents of another binning cannot be added up: the run has to end.
void SupervisorNode::take_histograms(RosterMember& dcm) {
  const std::string fault = histograms_.take(dcm.name, dcm.incarnation, dcm.report);
  dcm.report.clear_filter_histograms();
  if (fault.empty() || histogram_fault_ == fault) return;
  histogram_fault_ = fault;
  spdlog::error("histograms do not add up reason=\"{}\"", fault);
  if (!course_.is(RunStage::gathering)) journal_.note_fault(fault);
  stop(fault);
}

Expected<void, wire::WireError> SupervisorNode::take_steps(const RosterMember& readout,
                                                           const v1::OutOfStep& message) {
  const auto taken = steps_.take(readout.index, message);
  if (!taken) return node::refused(taken.error());
  if (!steps_.take_change()) return {};
  for (const std::string& text : steps_.take_news()) {
    spdlog::warn("source out of step fault=\"{}\"", text);
    if (course_.has_begun()) journal_.note_fault(text);
  }
  for (const RosterMember& member : roster_.members()) {
    if (member.role == Role::readout && member.peer != nullptr) member.peer->send(steps_.verdict());
  }
  if (const std::string why = steps_.why_stop(); !why.empty() && course_.is(RunStage::running)) stop(why);
  return {};
}

void SupervisorNode::write_report(const RosterMember& member) {
  if (member.role != Role::dcm) return journal_.entries().write_report(member.report);
  v1::Report whole = member.report;
  histograms_.add_totals(member.name, member.incarnation, whole);
  journal_.entries().write_report(whole);
}

Expected<void, wire::WireError> SupervisorNode::take_filtering(RosterMember& dcm,
                                                               const v1::Filtering& filtering) {
  const auto note = slice_codec::decode(filtering);
  if (!note) return node::refused(note.error());
  machine_.filtering(dcm.index, *note, now_ns_);
  v1::Control answer;
  answer.mutable_filtering()->set_serial(filtering.serial());
  dcm.peer->send(answer);
  return {};
}

Expected<void, wire::WireError> SupervisorNode::take_reach(RosterMember& dcm, const v1::Reach& reach) {
  const auto unreached = slice_codec::decode(reach, settings_.readouts, settings_.writers);
  if (!unreached) return node::refused(unreached.error());
  machine_.reach(dcm.index, unreached->readouts, unreached->writers, now_ns_);
  return {};
}

void SupervisorNode::on_command(const v1::Command& command) {
  switch (command.kind()) {
    case v1::Command::SHUTDOWN:
      return watchers_.account_taken(now_ns_);
    case v1::Command::STOP:
      return stop(command.reason().empty() ? "stopped" : command.reason(),
                  static_cast<DurationNs>(std::min(command.limit_ms(), kLimitMsMax)) * kMillisecond);
    case v1::Command::BURST:
      if (!course_.is(RunStage::running)) return spdlog::warn("command ignored kind=BURST reason=\"no run\"");
      return bursts_.ask(command.before_ms(), command.after_ms(), command.reason(),
                         machine_.trigger_time(environment_.clock.utc_ns()));
    case v1::Command::PAUSE:
    case v1::Command::CONTINUE:
    case v1::Command::DRAIN:
    case v1::Command::ADD:
      return change_farm(command);
    default:
      return;
  }
}

void SupervisorNode::expect_absent() {
  for (const std::string& name : settings_.absent) {
    RosterMember* member = roster_.find(name);
    if (member == nullptr)
      throw std::runtime_error("the farm has no node '" + name + "' that could be absent");
    expect_later(*member);
  }
}

void SupervisorNode::expect_later(RosterMember& member) {
  member.absent = true;
  machine_.expect_later(slice_rows::NodeRef{member.role, member.index});
}

void SupervisorNode::change_farm(const v1::Command& command) {
  // While the run drains, a DCM may return: slices may wait for the only one of their group.
  const bool returns = course_.is(RunStage::draining) && command.kind() == v1::Command::ADD;
  if (!course_.is(RunStage::gathering) && !course_.is(RunStage::running) && !returns) {
    return spdlog::warn("command ignored kind={} reason=\"run ending\"",
                        v1::Command::Kind_Name(command.kind()));
  }
  if (command.kind() == v1::Command::PAUSE || command.kind() == v1::Command::CONTINUE) {
    const bool pause = command.kind() == v1::Command::PAUSE;
    pause ? machine_.pause(now_ns_) : machine_.continue_run(now_ns_);
    return spdlog::info("run {} reason=\"{}\"", pause ? "paused" : "continued", command.reason());
  }
  const bool drain = command.kind() == v1::Command::DRAIN;
  for (const std::string& name : command.nodes()) {
    RosterMember* member = roster_.find(name);
    if (member == nullptr) {
      spdlog::warn("command ignored node={} reason=\"not in the plan of this farm\"", name);
      continue;
    }
    if (returns && member->role != Role::dcm) {
      spdlog::warn("command ignored node={} reason=\"run ending\"", name);
      continue;
    }
    // A node that has refused to take part does not hold up the run's begin; it may still come.
    if (drain && course_.is(RunStage::gathering) && member->peer == nullptr && !member->absent) {
      spdlog::warn("began without name={} reason=\"{}\"", name, command.reason());
      expect_later(*member);
      continue;
    }
    spdlog::info("{} name={} reason=\"{}\"", drain ? "draining" : "added", name, command.reason());
    drain ? machine_.remove(slice_rows::NodeRef{member->role, member->index}, now_ns_)
          : machine_.add(slice_rows::NodeRef{member->role, member->index}, now_ns_, actions_);
    dispatch_.directory_changed();
  }
  look_whether_it_stands();
}

void SupervisorNode::on_signal(std::string_view signal_name) {
  if (course_.is(RunStage::running)) return stop(std::string(signal_name));
  if (course_.is(RunStage::gathering) || course_.is_ending())
    course_.fail("ended by " + std::string(signal_name));
}

// By number: if all readouts are new processes no counter can be placed, and the farm would stand still
// forever. But then no source has a number of the run, and all may go on from the same one.
void SupervisorNode::look_whether_it_stands() {
  if (!numbers_ || !course_.is(RunStage::running)) return;
  const auto takes_part = [this](const RosterMember& member) {
    return member.role == Role::readout &&
           machine_.part({Role::readout, member.index}) == slice_rows::Part::in;
  };
  for (const RosterMember& member : roster_.members()) {
    if (takes_part(member) && (member.peer == nullptr || !member.brings_no_number)) return;
  }
  for (RosterMember& member : roster_.members()) {
    if (!takes_part(member) || std::exchange(member.stood_still, true)) continue;
    if (member.welcome != Welcome::begin) dispatch_.send_begin(member, course_.begun_utc_ns(), false);
  }
}

}  // namespace weir::supervisor
