#include "commands.hpp"
#include "control_connection.hpp"
#include "farm_end.hpp"
#include "field_options.hpp"
#include <weir/base/figures.hpp>
#include <weir/base/held_up.hpp>
#include <weir/base/role.hpp>
#include <weir/base/time.hpp>
#include <weir/bus/client.hpp>
#include <weir/clock/clock.hpp>
#include <weir/control/health.hpp>
#include <weir/control/states.hpp>
#include <weir/farm_view/disks.hpp>
#include <weir/farm_view/display_state.hpp>
#include <weir/farm_view/sequence.hpp>
#include <weir/farm_view/switches.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/reports/source_counts.hpp>
#include <weir/run_record/json.hpp>
#include <weir/run_record/source_table.hpp>
#include <weir/v1/bus.pb.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::commands {
namespace {

using control::Command;
using control::State;

constexpr int kRefused = 1;   // by run control, or it ended in error
constexpr int kCutShort = 4;  // the run has its account, and slices in flight were discarded
constexpr int kFaults = 5;    // the run has its account, and survived faults
constexpr double kEntryPatienceS = 15;
constexpr std::size_t kSourcesInStatus = 3;  // `weir ctl sources` prints all
constexpr double kEndPatienceS = 30;         // for the processes of a farm that is off

struct CtlOptions {
  ConnectionOptions connection{{}, {}, {}, "operator"};
  double timeout_s = 5;  // for an answer
  bool json = false;
  bool no_wait = false;
  bool problems = false;  // of status: nothing else
  v1::Request request;
  std::vector<std::string> nodes;
  std::vector<std::string> sets;
  RunFieldOptions fields;
};

std::string state_of(const v1::FarmView::Node& node) {
  std::string state = node.live() ? node.state().state() : "gone";
  if (node.live() && node.inactive()) state += ", inactive";
  if (node.excluded()) state += ", removed";
  if (state == name(State::running) && held_up_of(node.report().state()).hold != Hold::none)
    state = node.report().state();
  if (!node.state().reason().empty()) state += ": " + node.state().reason();
  return state;
}

std::string state_of(const v1::FarmView::Override& one) {
  if (one.unset()) return ", until the next configure";
  return one.in_force() ? "" : ", from the next configure";
}

// UTC: "2026-03-01 10:00:00".
std::string time_text(UtcNs utc_ns) {
  const std::time_t seconds = utc_ns / kSecond;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

// The command that asks for the state, and prints the sources in it.
constexpr const char* kSourcesCommand = "sources";

const v1::SourceCounts& sources_of(const v1::FarmView& view) {
  for (const auto& node : view.nodes()) {
    if (node.role() == name(Role::supervisor)) return node.report().sources();
  }
  return v1::SourceCounts::default_instance();
}

void print_sources(const v1::FarmView& view, bool json) {
  const v1::SourceCounts& sources = sources_of(view);
  if (json) return fmt::print("{}", run_record::pretty(run_record::sources_json(sources)));
  if (sources.source_size() == 0) return fmt::print("no counts of sources: no run reported yet\n");
  fmt::print("{}", run_record::sources_text(sources));
}

// Counts and rate of the run that is on, or was.
void print_run(const v1::FarmView& view) {
  for (const auto& node : view.nodes()) {
    if (node.role() != name(Role::supervisor) || node.report().counters().empty()) continue;
    const v1::Report& report = node.report();
    std::string time;
    if (view.run_begin_utc_ns() > 0) {
      const DurationNs seconds = std::max<DurationNs>(0, view.utc_ns() - view.run_begin_utc_ns()) / kSecond;
      time = fmt::format("  {}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
      if (view.offered_per_s() > 0) time += fmt::format("  {:.4g} triggers/s offered", view.offered_per_s());
    }
    fmt::print(
        "  run {}{}: {} triggered, {} stored, {} rejected, {} discarded, {} vetoed, {:.0f} in flight\n",
        view.run(), time, reports::counter_of(report, "triggered"), reports::counter_of(report, "stored"),
        reports::counter_of(report, "rejected"), reports::total_of(report, "discarded."),
        reports::total_of(report, "vetoed."), reports::gauge_of(report, "slices_in_flight").value_or(0));
    if (const std::uint64_t alerts = reports::counter_of(report, "burst.alerts"); alerts > 0)
      fmt::print("  bursts: {}, {} of {} slices saved, {} not\n", counted(alerts, "alert"),
                 reports::counter_of(report, "burst.saved"), reports::counter_of(report, "burst.asked"),
                 reports::total_of(report, "burst.not_saved."));
    for (const std::string& line : reports::worst_lines(report.sources(), kSourcesInStatus))
      fmt::print("  missing: {}\n", line);
  }
}

// "type=physics shifter=Ann"
void print_fields(const v1::FarmView& view) {
  const std::map<std::string, std::string> fields(view.run_fields().begin(), view.run_fields().end());
  if (fields.empty()) return;
  std::string text;
  for (const auto& [name, value] : fields) text += fmt::format("  {}={}", name, value);
  fmt::print("  run {}:{}\n", view.run(), text);
}

void print_sequence(const v1::FarmView& view) {
  if (view.has_sequence())
    fmt::print("  scan     {}\n", farm_view::sequence_text(view.sequence(), view.utc_ns()));
}

void print_view(const v1::FarmView& view) {
  fmt::print("{}  {}{}{}  run {}\n", view.farm(), view.state(),
             view.under_way().empty() ? "" : ", " + view.under_way() + " is under way",
             view.reason().empty() ? "" : ": " + view.reason(), view.run());
  for (const auto& one : view.health()) {
    if (one.gravity() != "good" && !one.reason().empty())
      fmt::print("  {}: {}: {}{}\n", one.gravity(), one.word(), one.reason(),
                 farm_view::age_text(one, view.utc_ns()));
  }
  print_run(view);
  print_fields(view);
  print_sequence(view);
  for (const control::DiskUse& one : farm_view::disks_of(view))
    fmt::print("  disk     {}\n", control::space_text(one));
  for (const auto& one : view.switches()) fmt::print("  switch   {}\n", farm_view::switch_text(one));
  for (const auto& one : view.overrides())
    fmt::print("  set      {}={}  by {}{}\n", one.key(), one.value(), one.origin(), state_of(one));
  std::size_t width = 4;
  for (const auto& node : view.nodes()) width = std::max(width, node.name().size());
  for (const auto& node : view.nodes()) {
    const std::string pid = node.live() ? std::to_string(node.pid()) : "-";
    fmt::print("  {:<{}}  {:<10}  {:<9}  {:>7}  {}\n", node.name(), width, node.role(), node.duty(), pid,
               state_of(node));
  }
  constexpr int kLines = 5;
  for (int i = std::max(0, view.events_size() - kLines); i < view.events_size(); ++i) {
    fmt::print("  {}  {:<7}  {}\n", time_text(view.events(i).utc_ns()), view.events(i).level(),
               view.events(i).text());
  }
}

// Findings that need a person, and processes that are not well, by host.
void print_problems(const v1::FarmView& view) {
  bool any = false;
  for (const auto& one : view.health()) {
    if (one.gravity() != name(control::Gravity::warning) && one.gravity() != name(control::Gravity::error))
      continue;
    any = true;
    fmt::print("{}: {}{}{}{}\n", one.gravity(), one.word(), one.reason().empty() ? "" : ": ", one.reason(),
               farm_view::age_text(one, view.utc_ns()));
  }
  std::map<std::string, std::vector<std::string>> hosts;
  std::map<std::string, std::size_t> processes;
  for (const auto& node : view.nodes()) {
    ++processes[node.host()];
    const farm_view::DisplayState shown = farm_view::display_state(view, node);
    if (!node.live() || node.inactive() || node.excluded() || !shown.reason.empty())
      hosts[node.host()].push_back(fmt::format("{:<12} {}", node.name(), state_of(node)));
  }
  for (const auto& [host, lines] : hosts) {
    any = true;
    fmt::print("{}: {} of {} processes\n", host.empty() ? "unknown host" : host, lines.size(),
               processes[host]);
    for (const std::string& line : lines) fmt::print("  {}\n", line);
  }
  if (!any) fmt::print("no problems\n");
}

void print_json(const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  (void)google::protobuf::util::MessageToJsonString(message, &text, options);
  fmt::print("{}\n", text);
}

// Prints the events since `since`; returns the time of the last event.
UtcNs tell_events(const v1::FarmView& view, const CtlOptions& options, UtcNs since) {
  for (const auto& line : view.events()) {
    if (line.utc_ns() <= since) continue;
    since = line.utc_ns();
    if (!options.json) fmt::print(stderr, "{}\n", line.text());
  }
  return since;
}

// Waits for the end of a transition, and prints the events after `since` meanwhile. Returns true if the farm
// reached its target state.
bool follow(ControlClient& ctl, const CtlOptions& options, UtcNs& since, v1::FarmView& view) {
  for (;;) {
    view = ctl.status();
    since = tell_events(view, options, since);
    if (view.under_way().empty() && options.request.command() == name(Command::configure))
      return view.state() == name(State::ready);
    if (view.under_way().empty())
      return view.state() != name(State::error) || options.request.command() == name(Command::reset);
    ctl.pause();
  }
}

bool is_transition(const std::string& command) { return control::command_of(command).has_value(); }

// "dcm-0 ended with signal 9 (and 2 more)"; empty: none.
std::string faults_of(const v1::FarmView::Run& run) {
  if (!run.faults()) return "";
  const std::string first = run.fault().empty() ? "the end record names them" : run.fault();
  return run.fault_count() <= 1 ? first : fmt::format("{} (and {} more)", first, run.fault_count() - 1);
}

// The run's entry, when it has one.
const v1::FarmView::Run* entry_of(const v1::FarmView& view, std::uint32_t run) {
  const auto found =
      std::find_if(view.runs().begin(), view.runs().end(), [&](const auto& one) { return one.run() == run; });
  return found == view.runs().end() ? nullptr : &*found;
}

// Returns the exit status, and prints how the run ended: the events of its end may have left the view.
int status_of_run(std::uint32_t run, const v1::FarmView& view) {
  const v1::FarmView::Run* entry = entry_of(view, run);
  if (entry == nullptr) {
    fmt::print(stderr, "weir ctl: run {} has no account\n", run);
    return kRefused;
  }
  if (!entry->failure().empty() || !entry->balanced()) {
    fmt::print(stderr, "weir ctl: run {} ended badly: {}\n", run,
               entry->failure().empty() ? "its ledger does not balance" : entry->failure());
    return kRefused;
  }
  const std::string faults = faults_of(*entry);
  if (entry->discarded_at_stop() > 0) {
    fmt::print(
        stderr,
        "weir ctl: run {} was cut short: {} slices in flight were discarded (drain_timeout) when the time "
        "to drain was over; its ledger balances{}\n",
        run, entry->discarded_at_stop(), faults.empty() ? "" : "; faults: " + faults);
    return kCutShort;
  }
  if (!entry->faults()) return 0;
  fmt::print(stderr, "weir ctl: run {} ended with faults: {}; its ledger balances\n", run, faults);
  return kFaults;
}

// The run's entry may come a moment after the farm is ready.
void wait_for_entry(ControlClient& ctl, const CtlOptions& options, UtcNs since, v1::FarmView& view) {
  const double until_s = monotonic_now_s() + kEntryPatienceS;
  while (entry_of(view, view.run()) == nullptr && monotonic_now_s() < until_s) {
    ctl.pause();
    view = ctl.status();
    since = tell_events(view, options, since);
  }
}

// A run that is on is stopped first. A farm that is off has no process left, run control last.
int follow_off(ControlClient& ctl, const CtlOptions& options, UtcNs since, v1::FarmView view) {
  const std::uint32_t run = view.run();
  const bool run_is_on = view.state() == name(State::running) || view.state() == name(State::paused);
  int status = 0;
  if (run_is_on) {
    // The account may follow shortly after the stop, while the processes are ordered to end.
    bool is_open = true;
    while (is_open && !nothing_listens(ctl.host(), ctl.port())) {
      ctl.pause();
      view = ctl.status();
      since = tell_events(view, options, since);
      is_open = view.under_way() == name(Command::stop) || entry_of(view, run) == nullptr;
    }
    status = status_of_run(run, view);
  }
  const std::vector<std::string> left = wait_for_farm_end(ctl.host(), ctl.port(), view, kEndPatienceS);
  if (left.empty()) {
    if (!options.json) fmt::print(stderr, "the farm is off\n");
    return status;
  }
  fmt::print(stderr, "weir ctl: not ended after {:.0f} s: {}\n", kEndPatienceS, fmt::join(left, ", "));
  return kRefused;
}

// Returns the exit status.
int print_checks(const v1::Reply& reply, bool json) {
  if (json) print_json(reply);
  bool is_fit = true;
  for (const v1::PreflightCheck& one : reply.checks()) {
    is_fit = is_fit && one.gravity() != name(control::Gravity::error);
    if (!json) fmt::print("{:<7}  {:<9}  {}\n", one.gravity(), one.name(), one.text());
  }
  return is_fit ? 0 : kRefused;
}

int carry_out(const CtlOptions& options) {
  const run_record::RunFields fields = options.fields.given();  // first: a wrong one needs no farm
  ControlClient ctl(options.connection, options.timeout_s);
  v1::FarmView view = ctl.status();
  if (options.request.command() == name(control::RequestKind::preflight)) {
    const v1::Reply reply = ctl.ask(options.request);
    if (reply.good()) return print_checks(reply, options.json);
    fmt::print(stderr, "weir ctl: {}\n", reply.error());
    return kRefused;
  }
  if (options.request.command() == name(control::RequestKind::status)) {
    if (options.json) {
      print_json(view);
    } else if (options.problems) {
      print_problems(view);
    } else {
      print_view(view);
    }
    return 0;
  }
  if (options.request.command() == kSourcesCommand) {
    print_sources(view, options.json);
    return 0;
  }
  UtcNs since = view.events_size() == 0 ? 0 : view.events(view.events_size() - 1).utc_ns();
  v1::Request request = options.request;
  for (const std::string& one : options.nodes) request.add_nodes(one);
  for (const std::string& one : options.sets) request.add_sets(one);
  request.mutable_fields()->insert(fields.begin(), fields.end());
  const v1::Reply reply = ctl.ask(request);
  if (!reply.good()) {
    if (options.json) print_json(reply);
    fmt::print(stderr, "weir ctl: {}\n", reply.error());
    return kRefused;
  }
  int status = 0;
  const bool starts = request.command() == name(Command::start);
  // No process is left to report the end of such a farm.
  const bool last = view.one_run() && request.command() == name(Command::stop);
  if (last && !options.json) fmt::print(stderr, "the farm ends with this run: `weir run` has its summary\n");
  if (is_transition(request.command()) && !options.no_wait && !last) {
    if (request.command() == name(Command::off)) return follow_off(ctl, options, since, view);
    if (!follow(ctl, options, since, view)) {
      status = kRefused;
      if (view.state() == name(State::error))
        fmt::print(stderr, "weir ctl: the farm is in error: {}\n", view.reason());
    }
    const bool is_on = view.state() == name(State::running) || view.state() == name(State::paused);
    // A run that failed to begin, or is already over, has its entry.
    if (request.command() == name(Command::stop) || (starts && !is_on)) {
      wait_for_entry(ctl, options, since, view);
      status = std::max(status, status_of_run(view.run(), view));
    }
  }
  if (starts && options.no_wait) view = ctl.status();
  if (starts && !options.json) fmt::print("run {}\n", view.run());
  if (options.json) {
    *view.mutable_events() = {};
    print_json(view);
  }
  return status;
}

int run_ctl(const CtlOptions& options) {
  try {
    return carry_out(options);
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "weir ctl: {}\n", error.what());
    return kUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weir ctl: {}\n", error.what());
    return kUnreachable;
  }
}

}  // namespace

void add_ctl(CLI::App& app, int& status) {
  auto options = std::make_shared<CtlOptions>();
  CLI::App* ctl = app.add_subcommand("ctl", "Command a farm through its run control");
  ctl->require_subcommand(1);
  add_connection_options(*ctl, options->connection);
  ctl->add_option("--timeout", options->timeout_s, "seconds to wait for an answer (default 5)")
      ->take_last()
      ->check(CLI::Range(0.1, 3600.0));
  ctl->add_flag("--json", options->json, "print answers as JSON, for scripts");
  ctl->add_flag("--no-wait", options->no_wait, "return without waiting for the end of a transition");
  const auto add = [&](const char* name, const char* what) {
    CLI::App* command = ctl->add_subcommand(name, what);
    command->fallthrough();
    command->callback([options, name, &status] {
      options->request.set_command(name);
      status = run_ctl(*options);
    });
    return command;
  };
  add("status", "Show the state of the farm and its processes")
      ->add_flag("--problems", options->problems,
                 "print findings of severity warning and error, and the processes concerned by host");
  add("preflight",
      "Check whether the farm is fit for a run: processes, disks, clocks, checksums, keys, alarms");
  add(kSourcesCommand, "Show the fragments of each source, those with the highest losses first");
  add("init", "Load the farm file in every process");
  add("configure", "Apply the settings of the farm file, and those given here, to every process")
      ->add_option("--set", options->sets, "key of the farm file with its new value: key=value");
  CLI::App* start = add("start", "Start a run");
  start->add_option_function<std::uint32_t>(
      "run", [options](std::uint32_t run) { options->request.set_run(run); },
      "run number (default: the next one)");
  start->add_option_function<std::uint64_t>(
      "--slices",
      [options](std::uint64_t count) { options->sets.push_back(fmt::format("run.slices={}", count)); },
      "number of triggered slices after which the run ends");
  start->add_option_function<double>(
      "--duration",
      [options](double seconds) { options->sets.push_back(fmt::format("run.duration_s={}", seconds)); },
      "seconds after which the run ends");
  start->add_flag_callback(
      "--accept-disks", [options] { options->request.set_accept_disks(true); },
      "start although a disk of earlier runs, or of /etc/fstab, is not mounted");
  add_field_options(*start, options->fields);
  add("pause", "Pause triggers until `continue`");
  add("continue", "Resume triggers after `pause`");
  add("stop", "Drain and end the run")
      ->add_option_function<std::string>(
          "--reason", [options](const std::string& reason) { options->request.set_reason(reason); },
          "reason for the run's record");
  add("reset", "Return the farm to idle from any state; a current run is lost");
  add("off", "End every process of the farm");
  add("add", "Return removed processes to the farm")
      ->add_option("nodes", options->nodes, "names of processes")
      ->required();
  CLI::App* remove = add("remove", "Remove processes from the farm once they have finished their slices");
  remove->add_option("nodes", options->nodes, "names of processes")->required();
  remove->add_flag_callback(
      "--last", [options] { options->request.set_last(true); },
      "allow removing the last DCM (of its group), writer or readout");
  CLI::App* annotate = add("annotate", "Add fields to a run after its start");
  annotate
      ->add_option_function<std::uint32_t>(
          "run", [options](std::uint32_t run) { options->request.set_run(run); }, "run number")
      ->required();
  add_field_options(*annotate, options->fields);
  CLI::App* burst = add("burst", "Save the raw data around the present time as a burst alert");
  burst->add_option_function<double>(
      "--before", [options](double seconds) { options->request.set_before_s(seconds); },
      "seconds before now (default for both options: burst.before_s and burst.after_s)");
  burst->add_option_function<double>(
      "--after", [options](double seconds) { options->request.set_after_s(seconds); },
      "seconds after now; negative: the window ends before now");
  burst->add_option_function<std::string>(
      "--reason", [options](const std::string& reason) { options->request.set_reason(reason); },
      "text for the run's record");
  add("set", "Set keys of the farm file for the next `configure`")
      ->add_option("sets", options->sets, "key of the farm file with its new value: key=value")
      ->required();
  CLI::App* unset = add("unset", "Remove keys set earlier, for the next `configure`");
  unset->add_option("keys", options->sets, "keys, such as dcm.credits");
  unset->add_flag_callback(
      "--all", [options] { options->request.set_all(true); }, "remove every key that was set");
  add("switches",
      "Read the files of control.switches again, and change the tables of the switches, in a run too");
  CLI::App* kill =
      add("kill", "Send a signal to processes on run control's host, to test the farm's reaction");
  kill->add_option("nodes", options->nodes, "names of processes")->required();
  kill->add_option_function<std::string>(
          "--signal", [options](const std::string& text) { options->request.set_signal(text); },
          "KILL (default), TERM, INT, STOP, CONT, ABRT or SEGV")
      ->type_name("NAME");
  CLI::App* level = add("log-level", "Set the log level of the named processes, or of all");
  level
      ->add_option_function<std::string>(
          "level", [options](const std::string& text) { options->request.set_level(text); },
          "trace, debug, info, warning or error")
      ->required();
  level->add_option("nodes", options->nodes, "names of processes");
}

}  // namespace weir::commands
