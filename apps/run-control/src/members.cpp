// What processes say.
#include "core.hpp"
#include <weir/base/text.hpp>
#include <weir/node/setup.hpp>
#include <weir/run/records.hpp>
#include <weir/run/summary.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace weir::run_control {
namespace {

control::MemberState state_of(const v1::MemberState& told) {
  control::MemberState state;
  // One of a later version: nothing can be asked of it.
  state.state = control::state_of(told.state()).value_or(control::State::error);
  state.run = RunNumber(told.run());
  state.epoch = told.epoch();
  state.begun = told.begun();
  state.ended = told.ended();
  state.reason = told.reason();
  return state;
}

constexpr std::size_t kHostBytesMax = 255;

bool is_wildcard(const std::string& host) { return host == "0.0.0.0" || host == "::" || host == "[::]"; }

// An endpoint as others reach it.
std::string reachable(const std::string& endpoint, const std::string& address) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon == endpoint.npos || !is_wildcard(endpoint.substr(0, colon)) || address.empty()) return endpoint;
  return address + endpoint.substr(colon);
}

// On this machine, and there no more: nobody has to wait until it is silent.
bool is_dead(const Process& process) {
  return process.pid != 0 && !process.pid_space.empty() && process.pid_space == node::pid_space() &&
         ::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH;
}

}  // namespace

std::optional<std::size_t> RunControl::Core::member_of(const bus::Sender& from) const {
  const auto found = by_client.find(from.id);
  return found == by_client.end() ? std::nullopt : std::optional(found->second);
}

void RunControl::Core::on_message(const bus::Sender& from, const v1::BusMessage& message) {
  now_ns = monotonic_now();
  const bool from_node = from.role == security::BusRole::node || from.role == security::BusRole::operator_;
  if (message.has_request()) {
    v1::BusMessage answer;
    *answer.mutable_reply() = request(message.request(), from.role);
    hub->send(from.id, answer);
  } else if (!from_node) {
    refuse(from, "this key is not one of a process of the farm");
  } else if (message.has_join()) {
    on_join(from, message.join());
  } else if (!member_of(from)) {
    v1::BusMessage answer;
    answer.mutable_welcome()->set_join_again(true);
    hub->send(from.id, answer);
  } else if (message.has_heartbeat()) {
    on_heartbeat(from, message.heartbeat());
  } else if (message.has_answer()) {
    on_answer(from, message.answer());
  } else if (message.has_run_over()) {
    on_run_over(from, message.run_over());
  } else if (message.has_leave()) {
    on_leave(from);
  }
}

void RunControl::Core::refuse(const bus::Sender& from, const std::string& why) {
  ++refused_joins;
  if (refused_joins <= kRefusalsTold)
    note(control::Level::warning, fmt::format("refused {}: {}", from.address, why));
  v1::BusMessage answer;
  answer.mutable_welcome()->set_refused(why);
  hub->send(from.id, answer);
}

void RunControl::Core::on_join(const bus::Sender& from, const v1::Join& join) {
  const auto member = machine->find(join.name());
  if (join.farm() != farm.farm() || !member) {
    return refuse(from, fmt::format("farm '{}' has no process '{}' of farm '{}'", farm.farm(), join.name(),
                                    join.farm()));
  }
  const control::Member& known = machine->members()[*member];
  Process& process = processes[*member];
  const bool other = known.live && known.incarnation.value != join.incarnation() && process.client != from.id;
  // Its last word may be from just before it died; then it is silent soon.
  const bool fresh = now_ns - known.heard_ns < 2 * file.control().heartbeat_ms() * kMillisecond;
  if (other && fresh && !is_dead(process)) {
    return refuse(
        from, fmt::format("'{}' is here already, from {}: end that process first, or wait until it is silent",
                          join.name(), process.host));
  }
  by_client.erase(process.client);
  by_client[from.id] = *member;
  process.client = from.id;
  process.address = from.address;
  process.host = clean_text(join.host(), kHostBytesMax);
  process.pid = join.pid();
  process.pid_space = join.pid_space();
  process.metrics = reachable(join.metrics(), from.address);
  process.software = join.software();
  process.digest = join.farm_digest();
  v1::BusMessage answer;
  v1::Welcome& welcome = *answer.mutable_welcome();
  welcome.set_publish_port(hub->publish_port());
  welcome.set_subscribe_port(hub->subscribe_port());
  welcome.set_heartbeat_ms(file.control().heartbeat_ms());
  hub->send(from.id, answer);
  machine->joined(*member, Incarnation(join.incarnation()), state_of(join.state()), now_ns, actions);
  if (settings.one_run && last_over != 0) send_home(*member);
}

void RunControl::Core::on_heartbeat(const bus::Sender& from, const v1::Heartbeat& heartbeat) {
  const std::size_t member = *member_of(from);
  if (machine->members()[member].incarnation.value != heartbeat.incarnation()) return;
  machine->heard(member, state_of(heartbeat.state()), now_ns, actions);
}

void RunControl::Core::on_answer(const bus::Sender& from, const v1::Answer& answer) {
  const std::size_t member = *member_of(from);
  if (answer.id() >= kTellIds) {  // a command to the node, a log level
    if (!answer.good())
      note(control::Level::error, machine->members()[member].plan.name + ": " + answer.error());
    return;
  }
  if (settings.one_run && !answer.good()) {
    // It ends, and may be started again.
    note(control::Level::error, machine->members()[member].plan.name + ": " + answer.error());
    return machine->left(member, now_ns, actions);
  }
  if (!answer.supervisor().empty()) supervisor = reachable(answer.supervisor(), from.address);
  machine->answered(member, answer.id(), answer.good(), answer.error(), state_of(answer.state()), now_ns,
                    actions);
  if (!answer.supervisor().empty()) tell_who_is_out();
}

void RunControl::Core::on_run_over(const bus::Sender& from, const v1::RunOver& over) {
  v1::BusMessage taken;
  taken.mutable_run_taken()->set_run(over.run());
  hub->send(from.id, taken);
  const auto is_this = [&](const v1::FarmView::Run& one) {
    return one.run() == over.run() && one.begin_utc_ns() == over.summary().begin_utc_ns();
  };
  const auto& known = history->runs();
  // Said again, perhaps because run control was started again.
  if (last_over == over.run() || std::any_of(known.begin(), known.end(), is_this)) return;
  last_over = over.run();
  if (settings.one_run) {
    for (std::size_t i = 0; i < processes.size(); ++i) send_home(i);
  }
  if (!over.has_summary()) {
    note(control::Level::error, fmt::format("run {} has no account: {}", over.run(), over.failure()));
    return;
  }
  last_summary = over.summary();
  if (settings.one_run) return;
  run::Summary summary = run::summarize(over.summary());
  summary.farm = farm.farm();
  summary.failure = over.failure();
  const run::RecordPaths paths = run::record_paths(out, RunNumber(over.run()));
  if (!run::write_file(paths.end, run::to_json(summary))) {
    note(control::Level::error, fmt::format("cannot write '{}': {}", paths.end, std::strerror(errno)));
  }
  if (const std::string failure = history->add(run_of(over.summary())); !failure.empty()) {
    note(control::Level::error, failure);
  }
  const bool good = over.failure().empty() && over.summary().balanced();
  note(good ? control::Level::info : control::Level::error,
       fmt::format("run {} is over: {}; {} triggered, {} stored, {} rejected; the ledger {}{}", over.run(),
                   over.summary().reason(), summary.triggered, summary.stored, summary.rejected,
                   over.summary().balanced() ? "balances" : "does NOT balance",
                   over.failure().empty() ? "" : "; " + over.failure()));
}

// A process that came too late for the farm's one run.
void RunControl::Core::send_home(std::size_t index) {
  const control::Member& member = machine->members()[index];
  if (!member.live || member.told.in_run() || member.plan.role == Role::supervisor) return;
  v1::Order off;
  off.set_command(std::string(control::name(control::Command::off)));
  tell(index, std::move(off));
}

void RunControl::Core::on_leave(const bus::Sender& from) {
  const std::size_t member = *member_of(from);
  by_client.erase(from.id);
  machine->left(member, now_ns, actions);
}

void RunControl::Core::on_published(std::string_view tag, ConstBytes payload) {
  const std::size_t dot = tag.find('.');
  const auto member = machine->find(tag.substr(dot + 1));
  if (!member) return;
  if (tag.starts_with("report.")) {
    v1::Report report;
    if (report.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
      processes[*member].report = std::move(report);
    }
  } else if (tag.starts_with("log.") && web) {
    v1::FarmView::Line line;
    if (line.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
      web->log(machine->members()[*member].plan.name, line);
    }
  }
}

}  // namespace weir::run_control
