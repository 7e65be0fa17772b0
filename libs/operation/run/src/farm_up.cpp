#include "burst_disks.hpp"
#include "detachment.hpp"
#include "farm.hpp"
#include "folder_lock.hpp"
#include <weir/base/assert.hpp>
#include <weir/config/stop_limit.hpp>
#include <weir/launch/child.hpp>
#include <weir/launch/control_process.hpp>
#include <weir/launch/farm_keeper.hpp>
#include <weir/launch/log_tail.hpp>
#include <weir/node/paths.hpp>
#include <weir/run/exit_status.hpp>
#include <weir/run/farm_up.hpp>
#include <weir/run_record/records.hpp>
#include <weir/transport/loop.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace weir::run {
namespace {

constexpr DurationNs kUpTurn = 50 * kMillisecond;
constexpr DurationNs kControlPatience = 20 * kSecond;

struct Kept {
  std::string name;
  launch::ChildSettings settings;
  launch::Child child;
  std::string end;  // of the last process
};

// Carries out FarmKeeper's decisions on a farm's processes.
class FarmUp {
 public:
  FarmUp(const UpOptions& options, LoadedFarm& farm, std::string log, std::FILE* out)
      : options_(options),
        farm_(farm),
        log_(std::move(log)),
        out_(out),
        keeper_(launch::drain_patience(config::stop_limit(farm.farm))),
        node_farm_(std::filesystem::path(log_).parent_path() / "weir-up.farm.yaml") {}

  // Returns the reason of a failure, or an empty string if all processes ended well. `background` is left to
  // itself once all processes are started.
  std::string run(Detachment* background);

 private:
  launch::ChildSettings settings_of(const std::string& program, const std::string& name) const;
  [[nodiscard]] std::string start(Kept& kept);
  [[nodiscard]] std::string start_run_control();
  [[nodiscard]] std::string start_nodes();
  void turn(TimeNs now_ns);
  void ended(std::size_t process, const launch::ProcessEnd& end, TimeNs now_ns);
  void listen_to_control();
  void introduce(const std::string& page) const;
  void say(const std::string& line) const {
    std::fputs((line + "\n").c_str(),
               out_);  // errors are ignored: the farm survives a full disk behind its output
    std::fflush(out_);
  }

  const UpOptions& options_;
  LoadedFarm& farm_;
  std::string log_;  // log folder
  std::FILE* out_;
  transport::Loop loop_{{}};
  launch::FarmKeeper keeper_;
  std::vector<Kept> kept_;  // the farm's processes
  std::string control_;     // run control's address, host:port
  // The current farm, for processes that are restarted. The farm file may have been edited since, which takes
  // effect with `configure` and must not keep a process from starting.
  std::string node_farm_;
  std::string failure_;
  std::string output_;
  bool signalled_ = false;
};

launch::ChildSettings FarmUp::settings_of(const std::string& program, const std::string& name) const {
  launch::ChildSettings settings;
  settings.program = node::program_folder() + "/" + program;
  settings.arguments = {"--farm", node_farm_};
  if (!options_.log_level.empty())
    settings.arguments.insert(settings.arguments.end(), {"--log-level", options_.log_level});
  settings.log_file = log_ + "/" + name + ".log";
  settings.log_files_kept = farm_.farm.log().files_kept();
  return settings;
}

std::string FarmUp::start(Kept& kept) {
  auto child = launch::Child::start(kept.settings);
  if (!child) return kept.name + ": " + child.error();
  kept.child = std::move(*child);
  kept.settings.append_log = true;
  return {};
}

std::string FarmUp::start_run_control() {
  Kept& control = kept_.emplace_back();
  control.name = "run-control";
  keeper_.add(launch::FarmKeeper::Kind::control);
  const v1::ControlSettings& keys = farm_.farm.control();
  const std::string listen = !options_.listen.empty() ? options_.listen
                             : keys.listen().empty()  ? launch::kAnyPort
                                                      : keys.listen();
  const std::string page = !options_.page.empty() ? options_.page
                           : keys.page().empty()  ? "127.0.0.1:0"
                                                  : keys.page();
  launch::ControlChildSettings wanted{node::program_folder(),
                                      options_.farm.farm_file,
                                      options_.farm.sets,
                                      listen,
                                      page,
                                      options_.log_level,
                                      log_ + "/" + control.name + ".log",
                                      farm_.farm.log().files_kept(),
                                      {"--begin-with-file"},
                                      -1};
  control.settings = launch::control_child(wanted);
  if (const std::string error = start(control); !error.empty()) return error;
  const TimeNs until = loop_.now_ns() + kControlPatience;
  std::optional<launch::ControlPlace> place;
  while (!(place = launch::control_place(output_, listen))) {
    if (control.child.poll() || loop_.now_ns() > until) {
      return "run control did not start: " + launch::last_error_of_file(control.settings.log_file, 0);
    }
    loop_.run_once([&](TimeNs) { output_ += control.child.take_output(); }, kUpTurn);
  }
  control_ = place->at;
  // A restarted run control has to listen where its processes look for it.
  wanted.more = {"--fallback", node_farm_};
  wanted.listen = place->at;
  wanted.page = place->page;
  control.settings.arguments = launch::control_child(wanted).arguments;
  introduce(place->page_url);
  return {};
}

void FarmUp::introduce(const std::string& page) const {
  const std::string& out =
      farm_.farm.control().out().empty() ? farm_.farm.run().out() : farm_.farm.control().out();
  say("run control  " + control_ + "   weir ctl --connect " + control_ + " status");
  say("page         " + page + "   its buttons need the token in " + out + "/page-token");
  say("logs         " + log_);
}

std::string FarmUp::start_nodes() {
  static const std::map<Role, std::string> kPrograms = {{Role::supervisor, "weir-supervisor"},
                                                        {Role::writer, "weir-writer"},
                                                        {Role::readout, "weir-readout"},
                                                        {Role::dcm, "weir-dcm"}};
  if (!run_record::write_file(
          node_farm_, "# The farm that `weir up` starts its processes with.\n" + config::to_yaml(farm_.farm)))
    return "cannot write '" + node_farm_ + "': " + std::strerror(errno);
  for (const config::NodePlan& node : farm_.plan.nodes) {
    if (node.masked) continue;
    Kept& kept = kept_.emplace_back();
    kept.name = node.name;
    keeper_.add(node.role == Role::supervisor ? launch::FarmKeeper::Kind::supervisor
                                              : launch::FarmKeeper::Kind::other);
    kept.settings = settings_of(kPrograms.at(node.role), node.name);
    kept.settings.arguments.insert(kept.settings.arguments.end(),
                                   {"--name", node.name, "--control", control_});
    if (const std::string error = start(kept); !error.empty()) return error;
  }
  return {};
}

void FarmUp::ended(std::size_t process, const launch::ProcessEnd& end, TimeNs now_ns) {
  WEIR_ASSERT(process < kept_.size());
  listen_to_control();  // it announces that it ends the others first
  const launch::FarmKeeper::Verdict verdict = keeper_.ended(process, end.well(), now_ns);
  kept_[process].end = launch::describe(end);
  if (verdict == launch::FarmKeeper::Verdict::over) return;
  say(fmt::format("{} ended with {}{}", kept_[process].name, launch::describe(end),
                  verdict == launch::FarmKeeper::Verdict::starts_again ? ": restarting" : ""));
}

void FarmUp::listen_to_control() {
  output_ += kept_.front().child.take_output();
  if (launch::control_says_off(output_)) keeper_.off();
}

void FarmUp::turn(TimeNs now_ns) {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (!kept_[i].child.running()) continue;
    if (const auto end = kept_[i].child.poll()) ended(i, *end, now_ns);
  }
  listen_to_control();
  std::vector<std::size_t> stopped;
  for (std::size_t i = 0; signalled_ && i < kept_.size(); ++i) {
    if (kept_[i].child.is_stopped()) stopped.push_back(i);
  }
  const launch::FarmKeeper::Deeds deeds = keeper_.turn(now_ns, stopped);
  for (const std::size_t i : deeds.start) {
    WEIR_ASSERT(i < kept_.size());
    Kept& kept = kept_[i];
    const std::vector<std::string> arguments = kept.settings.arguments;
    // Run control has other options, and is not a member of its farm.
    if (i > 0) kept.settings.arguments.insert(kept.settings.arguments.end(), {"--after", kept.end});
    const std::string error = start(kept);
    kept.settings.arguments = arguments;
    if (error.empty()) {
      keeper_.started(i);
    } else {
      say(error);
      (void)keeper_.ended(i, false, now_ns);
    }
  }
  for (const std::size_t i : deeds.terminate) kept_[i].child.send_signal(SIGTERM);
  for (const std::size_t i : deeds.end) kept_[i].child.send_signal(SIGKILL);
  if (!deeds.kill) return;
  for (const Kept& kept : kept_) kept.child.send_signal(SIGKILL);
}

std::string FarmUp::run(Detachment* background) {
  loop_.on_signals({SIGINT, SIGTERM, SIGHUP, SIGCHLD}, [this](int signal) {
    if (signal == SIGCHLD) return;
    if (!std::exchange(signalled_, true)) say("ending: draining the current run (Ctrl-C again kills)");
    keeper_.signalled(loop_.now_ns());
  });
  std::string failure = start_run_control();
  if (failure.empty()) failure = start_nodes();
  if (!failure.empty()) return failure;
  if (background != nullptr) background->stay(log_ + "/weir-up.log");
  while (!keeper_.everyone_over()) loop_.run_once([this](TimeNs now_ns) { turn(now_ns); }, kUpTurn);
  return {};
}

}  // namespace

int farm_up(const UpOptions& options, std::FILE* out, std::FILE* err) {
  std::optional<Detachment> background;
  if (options.detach) {
    auto made = Detachment::begin();
    if (!made) {
      fmt::print(err, "weir up: --detach: {}\n", made.error());
      return kExitFailed;
    }
    if (made->is_parent()) return made->status();
    background = std::move(*made);
  }
  auto loaded = load(options.farm);
  if (!loaded) {
    fmt::print(err, "{}\n", config::to_text(loaded.error()));
    return kExitUsage;
  }
  if (const config::Problems problems = burst_disk_problems(*loaded); !problems.empty()) {
    fmt::print(err, "{}\n", config::to_text(problems));
    return kExitUsage;
  }
  // For the logs only: the folder for the data is decided when a run begins.
  const auto log = node::made_folder(loaded->farm.run().out() + "/log");
  if (!log) {
    fmt::print(err, "weir up: run.out: {}\n", log.error());
    return kExitFailed;
  }
  const auto lock = FolderLock::take(std::filesystem::path(*log).parent_path());
  if (!lock) {
    fmt::print(err, "weir up: run.out: {}\n", lock.error());
    return kExitFailed;
  }
  try {
    const std::string failure = FarmUp(options, *loaded, *log, out).run(background ? &*background : nullptr);
    if (failure.empty()) return kExitFine;
    fmt::print(err, "weir up: {}\n", failure);
  } catch (const std::exception& thrown) {
    fmt::print(err, "weir up: {}\n", thrown.what());
  }
  return kExitFailed;
}

}  // namespace weir::run
