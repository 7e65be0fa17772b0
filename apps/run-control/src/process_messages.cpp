#include "process_messages.hpp"

#include <weir/clock/clock.hpp>

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

namespace weir::run_control {
namespace {

control::MemberState state_of(const v1::MemberState& told) {
  control::MemberState state;
  // A state of a later version: requests are impossible.
  state.state = control::state_of(told.state()).value_or(control::State::error);
  state.run = RunNumber(told.run());
  state.epoch = told.epoch();
  state.begun = told.begun();
  state.ended = told.ended();
  state.draining = told.draining();
  state.reason = told.reason();
  return state;
}

}  // namespace

void ProcessMessages::take(const bus::Sender& from, const v1::BusMessage& message) {
  if (message.has_join()) return join(from, message.join());
  const auto member = parts_.members.of(from.id);
  if (!member) {
    v1::BusMessage welcome;
    welcome.mutable_welcome()->set_join_again(true);
    return send_(from.id, welcome);
  }
  if (message.has_heartbeat()) return heartbeat(*member, message.heartbeat());
  if (message.has_answer()) return answer(*member, from, message.answer());
  if (message.has_run_over()) return run_over(from, message.run_over());
  if (message.has_leave()) {
    parts_.members.left(from.id);
    const bool of_one_run = parts_.book.keeper() == RunBook::Keeper::starter;
    const bool awaited = of_one_run && parts_.machine.members()[*member].told.ended;
    parts_.machine.left(*member, parts_.now_ns, parts_.actions, awaited);
  }
}

void ProcessMessages::refuse(const bus::Sender& from, const std::string& why) {
  parts_.log.refused(from.address, why);
  v1::BusMessage welcome;
  welcome.mutable_welcome()->set_refused(why);
  send_(from.id, welcome);
}

// True if another process, presumably alive, has the place.
bool ProcessMessages::is_held(std::size_t member, const bus::Sender& from, const v1::Join& join) const {
  const control::Member& known = parts_.machine.members()[member];
  const Process& process = parts_.members[member];
  if (!known.live || known.incarnation.value == join.incarnation() || process.client == from.id) return false;
  // Its last message may be from just before its death; then silence follows soon.
  const bool fresh = parts_.now_ns - known.heard_ns < 2 * parts_.own.heartbeat_ns;
  return fresh && !is_dead(process);
}

void ProcessMessages::join(const bus::Sender& from, const v1::Join& join) {
  const std::string& farm = parts_.setup.configured().farm();
  const auto member = parts_.machine.find(join.name());
  if (join.farm() != farm || !member) {
    return refuse(from,
                  fmt::format("farm '{}' has no process '{}' of farm '{}'", farm, join.name(), join.farm()));
  }
  if (is_held(*member, from, join)) {
    return refuse(
        from, fmt::format("'{}' is here already, from {}: end that process first, or wait until it is silent",
                          join.name(), parts_.members[*member].host));
  }
  const std::uint32_t deaths = parts_.machine.members()[*member].deaths;
  parts_.members.joined(*member, from, join);
  parts_.members.is_made_of(*member, join.state().identity());
  parts_.members.writes_to(*member, join.state());
  const bool leads_run = note_supervisor(join.state(), from);
  v1::BusMessage answer;
  v1::Welcome& welcome = *answer.mutable_welcome();
  welcome.set_publish_port(ports_.publish);
  welcome.set_subscribe_port(ports_.subscribe);
  welcome.set_heartbeat_ms(static_cast<std::uint32_t>(parts_.own.heartbeat_ns / kMillisecond));
  send_(from.id, answer);
  parts_.machine.joined(*member, Incarnation(join.incarnation()), state_of(join.state()), parts_.now_ns,
                        parts_.actions);
  if (parts_.machine.members()[*member].deaths > deaths) note_death(*member);
  if (leads_run) parts_.orders.tell_who_is_out();
  if (parts_.book.is_over()) send_home(*member);
}

// In a run: the record has each way in which a process died, the events each death.
void ProcessMessages::note_death(std::size_t member) {
  const control::Member& one = parts_.machine.members()[member];
  const std::string& after = parts_.members[member].after;
  if (after.empty()) return;
  const std::string what = one.plan.name + " died in the run: " + after;
  // Deaths that differ only in the slice count once.
  if (!parts_.book.has_fault(what.substr(0, what.find(" at slice ")))) parts_.book.note_fault(what);
  parts_.log.note(control::Level::warning, fmt::format("{} (death {} of this process)", what, one.deaths));
}

bool ProcessMessages::note_supervisor(const v1::MemberState& state, const bus::Sender& from) {
  if (state.supervisor().empty()) return false;
  parts_.members.supervisor_listens(RunNumber(state.run()), state.supervisor(), from.address);
  return true;
}

void ProcessMessages::heartbeat(std::size_t member, const v1::Heartbeat& heartbeat) {
  if (parts_.machine.members()[member].incarnation.value != heartbeat.incarnation()) return;
  parts_.members.is_made_of(member, heartbeat.state().identity());
  parts_.members.writes_to(member, heartbeat.state());
  parts_.members.has_clock(member, heartbeat.utc_ns(), utc_now_ns(), parts_.now_ns);
  parts_.machine.heard(member, state_of(heartbeat.state()), parts_.now_ns, parts_.actions);
}

void ProcessMessages::answer(std::size_t member, const bus::Sender& from, const v1::Answer& answer) {
  const auto note_failure = [&] {
    if (!answer.good()) parts_.log.error(parts_.machine.members()[member].plan.name + ": " + answer.error());
  };
  if (Orders::is_tell(answer.id())) return note_failure();
  if (parts_.book.keeper() == RunBook::Keeper::starter && !answer.good()) {
    // It ends, and may be started again.
    note_failure();
    return parts_.machine.left(member, parts_.now_ns, parts_.actions);
  }
  parts_.members.is_made_of(member, answer.state().identity());
  parts_.members.writes_to(member, answer.state());
  const auto& order = parts_.machine.members()[member].order;
  note_part_in_run(member, answer);
  const bool begins = order && order->id == answer.id() && order->command == control::Command::start;
  const bool leads_run = note_supervisor(answer.state(), from);
  parts_.machine.answered(member, answer.id(), answer.good(), answer.error(), state_of(answer.state()),
                          parts_.now_ns, parts_.actions, answer.wrong_settings());
  if (leads_run && begins) parts_.orders.tell_who_is_out();
}

// During a run a process reports the files that it would load, and refuses to load others than the run has.
void ProcessMessages::note_part_in_run(std::size_t member, const v1::Answer& answer) {
  const control::Remembered farm = parts_.machine.remembered();
  const auto& order = parts_.machine.members()[member].order;
  if (!farm.run_open || !order || order->id != answer.id()) return;
  const bool configures = order->command == control::Command::configure;
  if (configures && answer.good()) {
    const std::string failure =
        parts_.book.learn(parts_.members[member].identity, farm.run, parts_.setup.of_run(farm.run));
    if (!failure.empty()) parts_.log.error(failure);
  } else if ((configures || order->command == control::Command::start) && !answer.good()) {
    parts_.book.note_fault(parts_.machine.members()[member].plan.name + " took no part: " + answer.error());
  }
}

// The cause of slices that were discarded or incomplete: no process of a kind was left.
void ProcessMessages::note_removed_kinds(const v1::RunOver& over) {
  if (!over.summary().faults()) return;
  std::map<std::string, std::vector<const control::Member*>> kinds;
  for (const control::Member& member : parts_.machine.members()) {
    if (member.plan.role == Role::supervisor) continue;
    kinds[parts_.setup.kind_of(member.plan.name, member.plan.role)].push_back(&member);
  }
  for (const auto& [kind, members] : kinds) {
    std::string who;
    for (const control::Member* member : members) {
      if (!member->removed) break;
      who += (who.empty() ? "" : ", ") + member->plan.name + " removed by " +
             (member->removed_by.empty() ? "an operator" : member->removed_by);
      if (member == members.back())
        parts_.book.note_leading_fault("no " + kind + " was left at the end: " + who);
    }
  }
}

void ProcessMessages::run_over(const bus::Sender& from, const v1::RunOver& over) {
  v1::BusMessage taken;
  taken.mutable_run_taken()->set_run(over.run());
  send_(from.id, taken);
  if (parts_.book.knows(over)) return;
  note_removed_kinds(over);
  for (const control::Event& event : parts_.book.end(over, parts_.setup.configured().farm()))
    parts_.log.note(event.level, event.text);
  parts_.machine.accounted();
  for (std::size_t i = 0; i < parts_.members.size(); ++i) send_home(i);
}

// In a farm of one run: dismisses a process that joins too late.
void ProcessMessages::send_home(std::size_t index) {
  if (parts_.book.keeper() != RunBook::Keeper::starter) return;
  const control::Member& member = parts_.machine.members()[index];
  if (!member.live || member.told.in_run() || member.plan.role == Role::supervisor) return;
  v1::Order off;
  off.set_command(std::string(control::name(control::Command::off)));
  parts_.orders.tell(index, std::move(off));
}

}  // namespace weir::run_control
