#include "burst_disks.hpp"
#include "disks.hpp"
#include "farm.hpp"
#include "stop_hooks.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/figures.hpp>
#include <weir/clock/clock.hpp>
#include <weir/config/hooks.hpp>
#include <weir/control/states.hpp>
#include <weir/farm_view/live_screen.hpp>
#include <weir/node/identity.hpp>
#include <weir/node/paths.hpp>
#include <weir/node/plugin_trial_child.hpp>
#include <weir/node/process.hpp>
#include <weir/node/setup.hpp>
#include <weir/run/exit_status.hpp>
#include <weir/run/farm_command.hpp>
#include <weir/run/farm_run.hpp>
#include <weir/run/lab_network.hpp>
#include <weir/run/lab_run.hpp>
#include <weir/run_record/records.hpp>
#include <weir/run_record/run_data.hpp>
#include <weir/run_record/run_history.hpp>
#include <weir/run_record/summary.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace weir::run {
namespace {

namespace fs = std::filesystem;

UtcNs utc_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

FarmOptions with_overrides(const RunOptions& options) {
  FarmOptions farm = options.farm;
  if (!options.lab_file.empty()) farm.sets = share_out(farm.sets).farm;
  if (options.slices) farm.sets.push_back(fmt::format("run.slices={}", *options.slices));
  if (options.duration_s) farm.sets.push_back(fmt::format("run.duration_s={}", *options.duration_s));
  if (!options.page.empty()) farm.sets.push_back("control.page=" + options.page);
  return farm;
}

// Keys that `weir run` does not use, with its own way to the same.
constexpr std::pair<std::string_view, std::string_view> kKeysOfRunControl[] = {
    {"control.out", ", which keeps its state in run.out: use --out"},
    {"control.transient", ", which waits for all of its processes"}};

// Returns an address of run control, if it is from the command line and not from the farm file.
std::string given_address(const LoadedFarm& loaded, std::string_view key, const std::string& value) {
  return loaded.locations.exactly(key) == config::kSetOption ? value : std::string();
}

std::string intentions(const LoadedFarm& loaded) {
  const auto count = [&](Role role, const char* noun) {
    const auto nodes = loaded.plan.of_role(role);
    const auto present =
        std::count_if(nodes.begin(), nodes.end(), [](const auto* node) { return !node->masked; });
    return counted(static_cast<std::uint64_t>(present), noun);
  };
  const std::size_t read = loaded.plan.sources.size() - loaded.plan.masked.size();
  return fmt::format("farm {}, run {}: {} ({}), {}, {}; into {}", loaded.farm.farm(),
                     loaded.farm.run().number(), count(Role::readout, "readout"), counted(read, "source"),
                     count(Role::dcm, "DCM"), count(Role::writer, "writer"), loaded.farm.run().out());
}

// The begin of a run, for its records.
struct RunBegin {
  UtcNs utc = 0;
  v1::RunIdentity identity;
  run_record::RunFields fields;
};

// Writes the begin-of-run records. Returns an error text, or an empty string.
std::string write_begin(const run_record::RecordPaths& paths, const LoadedFarm& loaded,
                        const RunBegin& begun) {
  if (run_record::write_begin_records(paths, "Every key of this run. It runs again with: weir run FILE",
                                      loaded, begun.utc, begun.identity, begun.fields))
    return {};
  return fmt::format("run.out: cannot write into '{}': {}", loaded.farm.run().out(), std::strerror(errno));
}

// Makes the run's folder with its begin-of-run records. The error is a sentence.
Expected<run_record::RecordPaths, std::string> prepare_folder(LoadedFarm& loaded, RunBegin& begun,
                                                              farm_view::LiveScreen& screen) {
  auto made = node::made_folder(loaded.farm.run().out());
  if (!made) return Unexpected<std::string>("run.out: " + made.error());
  loaded.farm.mutable_run()->set_out(*made);
  const std::string& out = loaded.farm.run().out();
  std::error_code error;
  fs::create_directories(out + "/log", error);
  if (error)
    return Unexpected<std::string>(fmt::format("run.out: cannot make '{}/log': {}", out, error.message()));
  const RunNumber wanted(loaded.farm.run().number());
  const auto claimed =
      run_record::claim_free_run(out, wanted, loaded.farm.farm(), node::make_incarnation().value);
  if (!claimed) return Unexpected<std::string>("run.out: " + claimed.error());
  const RunNumber run = *claimed;
  WEIR_ASSERT(run.value >= wanted.value);
  if (run != wanted) {
    screen.say(fmt::format("{} holds run {} already: this is run {}", out, wanted.value, run.value));
    loaded.farm.mutable_run()->set_number(run.value);
  }
  const run_record::RecordPaths paths = run_record::record_paths(out, run);
  begun.utc = utc_now();
  begun.identity = node::loadable_parts(loaded);
  if (const std::string failure = write_begin(paths, loaded, begun); !failure.empty())
    return Unexpected<std::string>(failure);
  return paths;
}

// Builds the account of a run from its last status, if its supervisor gave none.
v1::RunSummary account_of(const v1::FarmStatus& status, std::uint32_t run) {
  v1::RunSummary account;
  account.set_run(run);
  account.set_duration_ns(status.run_ns());
  *account.mutable_nodes() = status.nodes();
  for (const v1::Report& report : status.nodes()) {
    if (report.role() == v1::ROLE_SUPERVISOR) *account.mutable_counters() = report.counters();
  }
  return account;
}

RunEnd end_of(const FarmRunResult& result) {
  RunEnd end;
  end.failure = result.failure;
  end.has_summary = result.account.has_value();
  end.balanced = end.has_summary && result.account->balanced();
  end.faults = (end.has_summary && result.account->faults()) || !result.faults.empty();
  end.processes_well =
      std::all_of(result.processes.begin(), result.processes.end(),
                  [](const run_record::ProcessRecord& process) { return process.end.well(); });
  return end;
}

run_record::Summary summary_of(const FarmRunResult& result, const LoadedFarm& loaded) {
  run_record::Summary summary = run_record::summarize(
      result.account ? *result.account : account_of(result.last_status, loaded.farm.run().number()));
  summary.farm = loaded.farm.farm();
  summary.processes = result.processes;
  const RunEnd end = end_of(result);
  // The ends of processes cause the losses in the account.
  summary.faults.insert(summary.faults.begin(), result.faults.begin(), result.faults.end());
  summary.exit_status = exit_status(end);
  summary.failure = summary.exit_status == kExitFailed ? explain(end) : "";
  if (summary.reason.empty()) summary.reason = summary.failure;
  return summary;
}

// Returns the run's line in runs.jsonl, for the page and for searches of failed runs.
v1::FarmView::Run history_line(const FarmRunResult& result, const run_record::Summary& summary,
                               const LoadedFarm& loaded, const RunBegin& begun) {
  const std::uint32_t number = loaded.farm.run().number();
  v1::FarmView::Run line =
      run_record::run_of(result.account ? *result.account : account_of(result.last_status, number));
  line.set_run(number);
  line.set_reason(summary.reason);
  line.set_failure(summary.failure);
  if (line.begin_utc_ns() == 0) line.set_begin_utc_ns(begun.utc);
  if (!result.account) {
    line.set_outcome(result.last_status.run_ns() > 0 ? run_record::outcome::kNoAccount
                                                     : run_record::outcome::kNeverBegan);
  } else if (line.balanced() && !summary.failure.empty()) {
    line.set_outcome(run_record::outcome::kFailed);
  } else if (line.balanced() && !summary.faults.empty()) {
    line.set_outcome(run_record::outcome::kFaults);
  }
  if (!summary.faults.empty()) {
    line.set_faults(true);
    line.set_fault(summary.faults.front());
    line.set_fault_count(static_cast<std::uint32_t>(summary.faults.size()));
  }
  return line;
}

// Returns false after an error.
bool add_to_history(const v1::FarmView::Run& line, const LoadedFarm& loaded, std::FILE* err) {
  const std::string failed = run_record::append_run(loaded.farm.run().out() + "/runs.jsonl", line);
  if (!failed.empty()) fmt::print(err, "weir run: {}\n", failed);
  return failed.empty();
}

// Adds the state of the data on disk to the summary.
void look_at_data(const LoadedFarm& loaded, run_record::Summary& summary) {
  const RunNumber run(loaded.farm.run().number());
  run_record::add_unreported_files(loaded.farm.run().out(), run, summary);
  const bool hits = std::any_of(loaded.plan.nodes.begin(), loaded.plan.nodes.end(), [](const auto& node) {
    return node.role == Role::readout && node.source_kind == v1::SourceSettings::KIND_HITS;
  });
  if (!hits || loaded.farm.hits().track_rate_hz() == 0) return;
  const std::string& path = loaded.farm.hits().truth_file();
  std::ifstream truth(path.empty() ? loaded.farm.run().out() + "/truth.jsonl" : path);
  summary.truth = run_record::compare_with_truth(truth, run, run_record::stored_slices(summary.files));
}

// Returns commands that show some of the data.
std::string suggestions(const run_record::Summary& summary) {
  const auto file = std::find_if(summary.files.begin(), summary.files.end(),
                                 [](const run_record::Summary::File& one) { return one.slices > 0; });
  if (file == summary.files.end()) return {};
  std::string text = fmt::format("\nNext\n  weir file ls {}\n", file->path);
  const std::vector<std::uint64_t> slices = run_record::stored_slices({*file});
  if (!slices.empty()) text += fmt::format("  weir file dump --slice {} {}\n", slices.front(), file->path);
  return text;
}

void print_end(const run_record::Summary& summary, const run_record::RecordPaths& paths, bool files_stay,
               std::FILE* out) {
  run_record::Summary shown = summary;
  if (!files_stay) {
    shown.files.clear();
    shown.burst_files.clear();
  }
  std::string text = run_record::to_text(shown);
  if (files_stay) {
    text += fmt::format("\nRecords\n  {}\n  {}\n  {}\n  {}/*.log\n", paths.begin, paths.farm, paths.end,
                        paths.log);
    if (std::filesystem::exists(paths.histograms)) text += fmt::format("  {}\n", paths.histograms);
    text += suggestions(summary);
  }
  std::fputs(text.c_str(), out);
  std::fflush(out);
}

bool write_summary(const run_record::Summary& summary, const std::string& path, std::FILE* err) {
  if (path.empty() || run_record::write_file(path, run_record::to_json(summary))) return true;
  fmt::print(err, "weir run: cannot write the summary to '{}': {}\n", path, std::strerror(errno));
  return false;
}

bool write_histograms(const FarmRunResult& result, const run_record::RecordPaths& paths, std::FILE* err) {
  if (!result.account || run_record::write_histograms(paths, *result.account)) return true;
  fmt::print(err, "weir run: cannot write the histograms to '{}': {}\n", paths.histograms,
             std::strerror(errno));
  return false;
}

int fail(std::FILE* err, const std::string& why) {
  fmt::print(err, "weir run: {}\n", why);
  return kExitFailed;
}

// Reports incidents of a run that ended well enough, on standard error and also with --quiet.
void tell_survived(const RunEnd& end, const run_record::Summary& summary, bool quiet, std::FILE* err) {
  fmt::print(err, "weir run: {}\n", explain(end));
  if (!quiet) return;  // the summary names them
  for (const std::string& fault : summary.faults) fmt::print(err, "  {}\n", fault);
}

// Makes an instance of the DCMs' filters in a process of their own. Returns the problems found.
std::string try_filters(const LoadedFarm& loaded, const FarmOptions& given) {
  const auto dcms = loaded.plan.of_role(Role::dcm);
  const auto dcm = std::find_if(dcms.begin(), dcms.end(), [](const auto* node) { return !node->masked; });
  if (dcm == dcms.end()) return {};
  std::vector<std::string> arguments{"--farm",        given.farm_file,
                                     "--name",        (*dcm)->name,
                                     "--try-plugins", "--die-with-parent=" + std::to_string(::getpid())};
  for (const std::string& one : given.sets) arguments.insert(arguments.end(), {"--set", one});
  // A filter may take this long to start in a run.
  constexpr DurationNs kLimit = 30 * kSecond;
  const auto configure = static_cast<DurationNs>(loaded.farm.control().configure_s() * kSecond);
  const DurationNs limit = std::max(configure, kLimit);
  node::PluginTrialChild child(node::program_folder() + "/weir-dcm", arguments,
                               loaded.farm.SerializeAsString(), awake_now_ns(), limit);
  return child.wait();
}

DurationNs settling_of(const RunOptions& options) {
  return static_cast<DurationNs>(options.settle_s * static_cast<double>(kSecond));
}

// Makes the virtual network that the options request, if any; afterwards this thread is inside it.
Expected<std::optional<LabRun>, LabError> make_lab(const LoadedFarm& loaded, const RunOptions& options) {
  if (options.lab_file.empty()) return std::optional<LabRun>();
  const auto file = load_lab(options.lab_file, share_out(options.farm.sets).lab);
  if (!file) return Unexpected<LabError>({file.error(), true});
  const auto plan = lab::plan_lab(*file, &loaded.plan);
  if (!plan) return Unexpected<LabError>({config::to_text(plan.error()), true});
  const auto planes = static_cast<std::size_t>(std::max(1, loaded.farm.network().planes_size()));
  if (planes != plan->planes)
    return Unexpected<LabError>(
        {fmt::format("lab.planes: is {}, and the farm has {}: list as many network.planes as the lab has",
                     plan->planes, planes == 1 ? "no network.planes" : counted(planes, "plane")),
         true});
  auto lab = LabRun::make(*file, *plan, loaded.farm.network().congestion_control());
  if (!lab) return Unexpected<LabError>(lab.error());
  lab->set_settling(settling_of(options));
  if (!options.trace_network.empty()) {
    if (!run_record::write_file(options.trace_network, {}))
      return Unexpected<LabError>(
          {fmt::format("--trace-network: cannot write '{}': {}", options.trace_network, std::strerror(errno)),
           true});
    if (const auto traced = lab->trace(); !traced) return Unexpected<LabError>(traced.error());
  }
  return std::optional<LabRun>(std::move(*lab));
}

// DCMs on one host share its port, those behind a narrower link that link.
void name_ports(const lab::LabPlan& lab, LoadedFarm& loaded) {
  std::map<std::string, std::string> ports;  // by node
  const std::vector<std::string> links = run_record::narrow_links(network_of(lab, loaded.plan));
  for (std::size_t h = 0; h < lab.hosts.size(); ++h) {
    for (const std::string& node : lab.hosts[h].nodes)
      ports[node] = links[h].empty() ? lab.hosts[h].name : links[h];
  }
  v1::DcmSettings& dcm = *loaded.farm.mutable_dcm();
  const v1::DcmSettings before = dcm;
  dcm.clear_nodes();
  for (config::NodePlan& node : loaded.plan.nodes) {
    if (node.role != Role::dcm) continue;
    v1::DcmNodeSettings& entry = *dcm.add_nodes();
    WEIR_ASSERT(node.entry == config::kNoEntry || node.entry < before.nodes_size());
    if (node.entry != config::kNoEntry) entry = before.nodes(node.entry);
    node.entry = dcm.nodes_size() - 1;
    entry.set_name(node.name);
    entry.clear_count();
    if (const auto port = ports.find(node.name); port != ports.end()) entry.set_port(port->second);
  }
}

// Adds the theoretical limit, and the goodput after the first second as a share of it.
void add_network(const lab::LabPlan* lab, const LoadedFarm& loaded, const run_record::SteadyPart& steady,
                 run_record::Summary& summary) {
  const run_record::FarmNetwork whole =
      lab != nullptr ? network_of(*lab, loaded.plan, 0, summary.duration_s) : run_record::network_of(loaded);
  run_record::add_theory(whole, summary);
  run_record::add_steady_part(steady, summary);
  if (lab == nullptr || lab->changes.empty() || !summary.after_1s || whole.bits_per_s() <= 0) return;
  // If ports change, their mean rates after the first second differ from those of the whole run.
  run_record::SteadySummary& after = *summary.after_1s;
  const double bits_per_s = network_of(*lab, loaded.plan, 1, 1 + after.seconds).bits_per_s();
  if (bits_per_s > 0) after.goodput_share_of_theory *= whole.bits_per_s() / bits_per_s;
}

int run_loaded(LoadedFarm& loaded, const RunOptions& options, std::FILE* out, std::FILE* err,
               run_record::Summary* told) {
  auto lab = make_lab(loaded, options);
  if (!lab) {
    fmt::print(err, "weir run: {}\n", lab.error().text);
    return lab.error().usage ? kExitUsage : kExitFailed;
  }
  if (*lab) name_ports((*lab)->plan(), loaded);
  farm_view::LiveScreen screen(out, options.quiet);
  const auto say = [&](const std::string& line) {
    if (!options.quiet) screen.say(line);
  };
  RunBegin begin;
  begin.fields = run_record::cleaned(options.fields);
  const auto paths = prepare_folder(loaded, begin, screen);
  if (!paths) return fail(err, paths.error());
  say(intentions(loaded));
  if (*lab) {
    say((*lab)->introduction());
    if (!run_record::write_file(
            paths->lab,
            "# Every key of this run's lab. It runs again with: weir run FARM --lab FILE\n" + (*lab)->yaml()))
      return fail(err, fmt::format("cannot write '{}': {}", paths->lab, std::strerror(errno)));
  }
  FarmRunSettings settings{node::program_folder(),
                           paths->farm,
                           paths->log,
                           options.log_level,
                           given_address(loaded, "control.page", loaded.farm.control().page()),
                           loaded.farm.control().listen()};
  settings.listen_may_move = given_address(loaded, "control.listen", settings.listen).empty();
  settings.settling_ns = settling_of(options);
  settings.fields = begin.fields;
  FarmRunView view{[&](const farm_view::LiveFrame& frame) { screen.show(frame); }, say};
  view.made_of = [&](const v1::RunIdentity& identity) {
    // The record has the identity that the processes loaded, not the one found here before the run.
    v1::RunIdentity now = identity;
    node::take_files(begin.identity, now);
    begin.identity = std::move(now);
    if (const std::string failure = write_begin(*paths, loaded, begin); !failure.empty()) say(failure);
  };
  if (*lab) {
    settings.places = (*lab)->places();
    settings.control_host = lab::control_address();
    settings.control_network = (*lab)->outside();
    view.pass = [&](TimeNs now_ns) { (*lab)->pass(now_ns); };
    view.begun = [&](DurationNs ago_ns) { (*lab)->begun(ago_ns); };
    view.ends = [&] { (*lab)->ends(); };
    view.started = [&](const std::string& node, pid_t pid) { (*lab)->started(node, pid); };
    view.show = [&](farm_view::LiveFrame frame) {
      frame.lab = (*lab)->live_line();
      screen.show(frame);
    };
  }
  if (options.signalled && options.signalled()) return fail(err, "stopped before the run began");
  FarmRun run(loaded, std::move(settings), std::move(view));
  const FarmRunResult result = run.run();
  run_record::Summary summary = summary_of(result, loaded);
  std::string trace_failure;
  if (*lab) {
    (*lab)->account(summary);
    trace_failure = (*lab)->write_trace(options.trace_network);
  }
  add_network(*lab ? &(*lab)->plan() : nullptr, loaded, result.steady, summary);
  look_at_data(loaded, summary);
  const v1::FarmView::Run line = history_line(result, summary, loaded, begin);
  summary.outcome = line.outcome();
  if (!options.quiet && result.account) print_end(summary, *paths, options.removed.empty(), out);
  if (told != nullptr) *told = summary;
  const bool recorded = write_summary(summary, paths->end, err) && write_histograms(result, *paths, err);
  const bool listed = add_to_history(line, loaded, err);
  const bool written = write_summary(summary, options.summary_file, err) && recorded && listed;
  // A run that never began has not stopped.
  if (const auto all = config::read_hooks(loaded.farm);
      all && line.outcome() != run_record::outcome::kNeverBegan)
    inform_stop_hooks(*all,
                      {loaded.farm.farm(),
                       std::string(control::name(control::State::idle)),
                       RunNumber(loaded.farm.run().number()),
                       begin.fields,
                       {},
                       loaded.farm.run().out()},
                      with_overrides(options).sets, line, options.quiet ? nullptr : out, err);
  if (!trace_failure.empty()) return fail(err, trace_failure);
  if (summary.exit_status == kExitFailed) return fail(err, summary.failure + "\n  logs: " + paths->log);
  if (summary.exit_status == kExitSurvived) tell_survived(end_of(result), summary, options.quiet, err);
  return written ? summary.exit_status : kExitFailed;
}

}  // namespace

int run_farm(const RunOptions& options, std::FILE* out, std::FILE* err, run_record::Summary* told) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed output pipe does not end the run
  if (const auto lab = share_out(options.farm.sets).lab; options.lab_file.empty() && !lab.empty()) {
    fmt::print(err, "weir run: --set {}: no lab: use --lab FILE\n", lab.front());
    return kExitUsage;
  }
  if (options.lab_file.empty() && !options.trace_network.empty()) {
    fmt::print(err, "weir run: --trace-network needs a virtual network: use --lab FILE\n");
    return kExitUsage;
  }
  auto loaded = load(with_overrides(options));
  if (!loaded) {
    fmt::print(err, "{}\n", config::to_text(loaded.error()));
    return kExitUsage;
  }
  if (!loaded->warnings.empty()) fmt::print(err, "{}\n", config::to_text(loaded->warnings));
  if (const config::Problems problems = burst_disk_problems(*loaded); !problems.empty()) {
    fmt::print(err, "{}\n", config::to_text(problems));
    return kExitUsage;
  }
  const auto& types = loaded->farm.control().run_types();
  if (const std::string why = run_record::check_fields(options.fields, {types.begin(), types.end()});
      !why.empty()) {
    fmt::print(err, "weir run: {}\n", why);
    return kExitUsage;
  }
  for (const auto& [key, instead] : kKeysOfRunControl) {
    if (loaded->locations.exactly(key) != config::kSetOption) continue;
    fmt::print(err, "weir run: --set {}: has no effect on a single run{}\n", key, instead);
    return kExitUsage;
  }
  if (!options.out.empty()) loaded->farm.mutable_run()->set_out(options.out);
  if (const config::Problems disks = disk_warnings(*loaded); !disks.empty())
    fmt::print(err, "{}\n", config::to_text(disks));
  if (const std::string why = node::allow_descriptors(loaded->plan.nodes.size()); !why.empty()) {
    fmt::print(err, "weir run: {}\n", why);
    return kExitUsage;
  }
  try {
    if (const std::string why = try_filters(*loaded, with_overrides(options)); !why.empty()) {
      fmt::print(err, "{}\n", why);
      return kExitUsage;
    }
    return run_loaded(*loaded, options, out, err, told);
  } catch (const std::exception& error) {
    return fail(err, error.what());
  }
}

}  // namespace weir::run
