#include "core.hpp"
#include "preflight.hpp"
#include "view.hpp"
#include <weir/clock/clock.hpp>
#include <weir/node/identity.hpp>
#include <weir/reports/switch_account.hpp>

#include <fmt/format.h>

#include <utility>

namespace weir::run_control {
namespace {

// Of publications, before they are parsed: memory of a parsed message is a multiple. A supervisor's report
// has the filters' histograms, at most 262,144 cells of 8 bytes, and the worst sources.
constexpr std::size_t kReportBytesMax = 1U << 20;
constexpr std::size_t kSupervisorReportBytesMax = 8U << 20;
constexpr std::size_t kLogBytesMax = 64U << 10;

}  // namespace

void RunControl::Core::on_message(const bus::Sender& from, const v1::BusMessage& message) {
  parts_.now_ns = awake_now_ns();
  if (message.has_request() && message.request().command() == name(control::RequestKind::watch)) {
    watch(from, message.request());
  } else if (message.has_request()) {
    v1::BusMessage answer;
    const bool waited = hooks_.waits().has_value();
    *answer.mutable_reply() = request(message.request(), from.role);
    if (!waited && hooks_.waits()) answer_later(from, message.request(), *answer.mutable_reply());
    hub_.send(from.id, answer);
  } else if (from.role != security::BusRole::node && from.role != security::BusRole::operator_) {
    reception_.refuse(from, "this key does not belong to a process of the farm");
  } else if (message.has_switch_report()) {
    v1::BusMessage answer;
    *answer.mutable_switch_table() = switches_.take(from.id, message.switch_report(), parts_.now_ns);
    hub_.send(from.id, answer);
  } else {
    take_of_process(from, message);
  }
  // The next message of this turn may ask for the state, and has to get the events that led to it.
  note_events();
}

void RunControl::Core::take_of_process(const bus::Sender& from, const v1::BusMessage& message) {
  if (!message.has_run_over() || !members_.of(from.id)) return reception_.take(from, message);
  v1::BusMessage over = message;
  if (over.run_over().has_summary())
    reports::add_switches(switches_.accounts().accounts(RunNumber(over.run_over().run())),
                          *over.mutable_run_over()->mutable_summary());
  reception_.take(from, over);
  watchers_.take(over);
}

// The supervisor's account has the reports of all processes.
bool RunControl::Core::sends_long(const bus::Sender& from) const {
  const auto member = members_.of(from.id);
  return member && machine_.members()[*member].plan.role == Role::supervisor;
}

void RunControl::Core::on_published(std::string_view tag, ConstBytes payload) {
  const std::size_t dot = tag.find('.');
  const auto member = machine_.find(tag.substr(dot + 1));
  if (!member) return;
  const bool of_supervisor = machine_.members()[*member].plan.role == Role::supervisor;
  const bool is_report = tag.starts_with("report.");
  const std::size_t bytes_max = !is_report      ? kLogBytesMax
                                : of_supervisor ? kSupervisorReportBytesMax
                                                : kReportBytesMax;
  if (payload.size() > bytes_max) return refuse_publication(tag, payload.size());
  const auto parse = [payload](auto& message) {
    return message.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
  };
  if (is_report) {
    v1::Report report;
    if (!parse(report)) return;
    if (of_supervisor) {
      const RunNumber run = machine_.remembered().run;
      quality_.take(run, report.filter_histograms());
      if (web_) web_->take_histograms(run.value, report.filter_histograms());
    }
    report.clear_filter_histograms();
    members_.reported(*member, std::move(report));
    if (of_supervisor) watchers_.supervisor_reported();
  } else if (tag.starts_with("log.") && web_) {
    v1::FarmView::Line line;
    if (parse(line)) web_->log(machine_.members()[*member].plan.name, line);
  }
}

// One line for each process is enough.
void RunControl::Core::refuse_publication(std::string_view tag, std::size_t bytes) {
  ++refused_publications_;
  if (!refused_tags_.insert(std::string(tag)).second) return;
  log_.note(control::Level::warning,
            fmt::format("{} of {} bytes is too long, and is not read: its process has another version, or is "
                        "damaged",
                        tag, bytes));
}

void RunControl::Core::watch(const bus::Sender& from, const v1::Request& request) {
  if (watchers_.add(from.id, request.id(), parts_.now_ns)) {
    hub_.send(from.id, watched(request.id()));
    if (watchers_.run_over() != nullptr) hub_.send(from.id, *watchers_.run_over());
    return;
  }
  v1::BusMessage full;
  full.mutable_reply()->set_id(request.id());
  full.mutable_reply()->set_error("too many clients are watching the farm");
  hub_.send(from.id, full);
}

void RunControl::Core::tell_watchers() {
  const FarmWatchers::Due due = watchers_.due({machine_.state(), machine_.under_way()});
  if (due == FarmWatchers::Due::nothing) return;
  for (const FarmWatchers::Watcher& one : watchers_.present(parts_.now_ns)) {
    hub_.send(one.client, watched(one.id));
    if (due == FarmWatchers::Due::run_over) hub_.send(one.client, *watchers_.run_over());
  }
}

v1::BusMessage RunControl::Core::watched(std::uint64_t id) const {
  v1::BusMessage message;
  v1::Reply& reply = *message.mutable_reply();
  reply.set_id(id);
  reply.set_good(true);
  *reply.mutable_view() = view();
  reply.mutable_view()->clear_runs();
  return message;
}

// Sends the answer to a command once its hooks have answered.
void RunControl::Core::answer_later(const bus::Sender& from, const v1::Request& request, v1::Reply& reply) {
  reply.set_pending_ms(static_cast<std::uint64_t>(hooks_.longest() / kMillisecond));
  asker_ = {from.id, request.id()};
}

v1::Reply RunControl::Core::request(const v1::Request& request, security::BusRole role) {
  v1::Reply reply;
  reply.set_id(request.id());
  if (request.command() == name(control::RequestKind::status)) {
    *reply.mutable_view() = view();
  } else if (request.command() == name(control::RequestKind::tap)) {
    reply.set_error(taps_.take(request.tap(), *reply.mutable_tap()));
  } else if (request.command() == name(control::RequestKind::preflight)) {
    control::PreflightFacts facts = preflight_facts(parts_, commands_.identity());
    facts.findings = findings();
    facts.disks = disks_.uses();
    facts.channels = alarms_.channels();
    add_checks(facts, reply);
  } else if (role == security::BusRole::operator_) {
    reply.set_error(carry_out(request));
  } else {
    reply.set_error("an observer's key cannot command: use an operator's");
  }
  reply.set_good(reply.error().empty());
  return reply;
}

std::string RunControl::Core::carry_out(const v1::Request& request) {
  if (request.command() == name(control::RequestKind::alarm))
    return alarms_.carry_out(request.alarm(), request.by(), {parts_.now_ns, utc_now_ns()});
  if (request.command() == name(control::RequestKind::sequence))
    return sequence_.take(request.sequence(), request.by(), parts_.now_ns, utc_now_ns());
  std::string error = commands_.carry_out(request);
  if (error.empty() && control::command_of(request.command())) rules_.commanded();
  return error;
}

v1::FarmView RunControl::Core::view() const {
  v1::FarmView view;
  view.set_farm(setup_.configured().farm());
  view.set_one_run(book_.keeper() == RunBook::Keeper::starter);
  view.set_over(machine_.is_over());
  if (const auto flow = health_.flow(); flow && flow->rate) view.set_offered_per_s(*flow->rate);
  view.set_utc_ns(utc_now_ns());
  add_machine(machine_, view);
  if (const auto command = hooks_.waits()) view.set_under_way(std::string(name(*command)));
  add_health(with_channels(findings(), alarms_.findings()), finding_times_, view);
  alarms_.add_to(view);
  sequence_.add_to(view, parts_.now_ns);
  switches_.add_to(view, parts_.now_ns);
  quality_.add_to(view);
  if (const auto share = health_.live_share()) view.set_live_share(*share);
  add_disks(disks_.uses(), view);
  for (const std::string& one : setup_.configured_sets()) view.add_sets(one);
  const bool is_on =
      machine_.state() == control::State::running || machine_.state() == control::State::paused;
  for (v1::FarmView::Override& one : setup_.shown(is_on)) *view.add_overrides() = std::move(one);
  *view.mutable_identity() = node::without_files(book_.identity());
  add_fields(book_.fields(), setup_.configured().control(), view);
  view.set_run_begin_utc_ns(is_on ? book_.begin_utc() : 0);
  for (std::size_t i = 0; i < members_.size(); ++i)
    *view.add_nodes() = view_of(machine_.members()[i], members_[i], parts_.now_ns);
  for (const auto& line : log_.lines()) *view.add_events() = line;
  for (const auto& run : book_.runs()) *view.add_runs() = run;
  add_counters(hub_.counters(), log_.refusals(), view);
  view.mutable_counters()->insert({"bus.too_long_published", refused_publications_});
  add_counters(hooks_.counts(), view);
  return view;
}

}  // namespace weir::run_control
