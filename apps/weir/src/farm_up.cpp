#include "farm.hpp"
#include <weir/node/paths.hpp>
#include <weir/run/child.hpp>
#include <weir/run/control_process.hpp>
#include <weir/run/exit_status.hpp>
#include <weir/run/farm_up.hpp>
#include <weir/run/log_tail.hpp>
#include <weir/run/restarts.hpp>
#include <weir/transport/loop.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

namespace weir::run {
namespace {

constexpr DurationNs kUpTurn = 50 * kMillisecond;
constexpr DurationNs kControlPatience = 20 * kSecond;
constexpr DurationNs kDrainPatience = 60 * kSecond;  // from the signal to SIGKILL
constexpr std::uint32_t kRestartsMax = 1'000'000;    // a farm that is to live for months

struct Kept {
  std::string name;
  ChildSettings settings;
  Child child;
  Restarts restarts{{true, kRestartsMax}};
  std::optional<TimeNs> start_at;
  bool is_control = false;
  bool is_supervisor = false;
  bool told = false;  // to end
  bool over = false;
};

// Keeps a farm's processes alive.
class FarmUp {
 public:
  FarmUp(const UpOptions& options, LoadedFarm& farm, std::FILE* out)
      : options_(options), farm_(farm), out_(out) {}

  // The reason of a failure; empty: all have ended well.
  std::string run();

 private:
  ChildSettings settings_of(const std::string& program, const std::string& name) const;
  [[nodiscard]] std::string start(Kept& kept);
  [[nodiscard]] std::string start_run_control();
  [[nodiscard]] std::string start_nodes();
  void turn(TimeNs now_ns);
  void end_next();
  void ended(Kept& kept, const ProcessEnd& end, TimeNs now_ns);
  void listen_to_control();
  // They were told to end: by run control, or by the program that started the farm.
  [[nodiscard]] bool is_to_end() const { return signals_ > 0 || off_; }
  void introduce(const std::string& page) const;
  [[nodiscard]] bool everyone_over() const {
    return std::all_of(kept_.begin(), kept_.end(), [](const Kept& one) { return one.over; });
  }
  void say(const std::string& line) const {
    fmt::print(out_, "{}\n", line);
    std::fflush(out_);
  }

  const UpOptions& options_;
  LoadedFarm& farm_;
  std::FILE* out_;
  transport::Loop loop_{{}};
  std::vector<Kept> kept_;  // run control first
  std::string control_;     // host:port
  std::string failure_;
  std::string output_;
  bool off_ = false;  // run control ends the farm
  int signals_ = 0;
  TimeNs kill_at_ = 0;
};

ChildSettings FarmUp::settings_of(const std::string& program, const std::string& name) const {
  ChildSettings settings;
  settings.program = node::program_folder() + "/" + program;
  settings.arguments = {"--farm", options_.farm.farm_file};
  for (const std::string& one : options_.farm.sets)
    settings.arguments.insert(settings.arguments.end(), {"--set", one});
  if (!options_.log_level.empty())
    settings.arguments.insert(settings.arguments.end(), {"--log-level", options_.log_level});
  settings.log_file = farm_.farm.run().out() + "/log/" + name + ".log";
  return settings;
}

std::string FarmUp::start(Kept& kept) {
  auto child = Child::start(kept.settings);
  if (!child) return kept.name + ": " + child.error();
  kept.child = std::move(*child);
  kept.settings.append_log = true;
  kept.start_at.reset();
  return {};
}

std::string FarmUp::start_run_control() {
  Kept& control = kept_.emplace_back();
  control.name = "run-control";
  control.is_control = true;
  const v1::ControlSettings& keys = farm_.farm.control();
  const std::string listen = !options_.listen.empty() ? options_.listen
                             : keys.listen().empty()  ? "127.0.0.1:0"
                                                      : keys.listen();
  const std::string page = !options_.page.empty() ? options_.page
                           : keys.page().empty()  ? "127.0.0.1:0"
                                                  : keys.page();
  ControlChildSettings wanted{node::program_folder(),
                              options_.farm.farm_file,
                              options_.farm.sets,
                              listen,
                              page,
                              options_.log_level,
                              farm_.farm.run().out() + "/log/" + control.name + ".log",
                              {},
                              -1};
  control.settings = control_child(wanted);
  if (const std::string error = start(control); !error.empty()) return error;
  const TimeNs until = loop_.now_ns() + kControlPatience;
  std::optional<ControlPlace> place;
  while (!(place = control_place(output_, listen))) {
    if (control.child.poll() || loop_.now_ns() > until) {
      return "run control does not start: " + last_error_of_file(control.settings.log_file, 0);
    }
    loop_.run_once([&](TimeNs) { output_ += control.child.take_output(); }, kUpTurn);
  }
  control_ = place->at;
  // Started again, it listens where its processes look for it.
  wanted.listen = place->at;
  wanted.page = place->page;
  control.settings.arguments = control_child(wanted).arguments;
  introduce("http://" + place->page + "/");
  return {};
}

void FarmUp::introduce(const std::string& page) const {
  const std::string& out =
      farm_.farm.control().out().empty() ? farm_.farm.run().out() : farm_.farm.control().out();
  say("run control  " + control_ + "   weir ctl --connect " + control_ + " status");
  say("page         " + page + "   its buttons want the token in " + out + "/page-token");
  say("logs         " + farm_.farm.run().out() + "/log");
}

std::string FarmUp::start_nodes() {
  static const std::map<Role, std::string> kPrograms = {{Role::supervisor, "weir-supervisor"},
                                                        {Role::writer, "weir-writer"},
                                                        {Role::readout, "weir-readout"},
                                                        {Role::dcm, "weir-dcm"}};
  for (const config::NodePlan& node : farm_.plan.nodes) {
    if (node.masked) continue;
    Kept& kept = kept_.emplace_back();
    kept.name = node.name;
    kept.is_supervisor = node.role == Role::supervisor;
    kept.settings = settings_of(kPrograms.at(node.role), node.name);
    kept.settings.arguments.insert(kept.settings.arguments.end(),
                                   {"--name", node.name, "--control", control_});
    if (const std::string error = start(kept); !error.empty()) return error;
  }
  return {};
}

void FarmUp::ended(Kept& kept, const ProcessEnd& end, TimeNs now_ns) {
  listen_to_control();  // it says that it ends the others before it does
  // Run control that dies while it ends the others is to come back for that.
  if (is_to_end() && (end.well() || signals_ > 0 || !kept.is_control)) {
    kept.over = true;
    return;
  }
  kept.start_at = kept.restarts.after_end(now_ns);
  say(fmt::format("{} ended with {}{}", kept.name, describe(end), kept.start_at ? ": starts again" : ""));
  kept.over = !kept.start_at;
}

// The supervisor first: it drains the run, and with that the others' parts of it end. Run control last: it
// keeps the record.
void FarmUp::end_next() {
  const auto term = [](Kept& kept) {
    if (!kept.told && kept.child.running()) kept.child.send_signal(SIGTERM);
    kept.told = true;
  };
  const auto over = [](const Kept& one) { return one.over; };
  for (Kept& kept : kept_) {
    if (kept.is_supervisor) term(kept);
    if (kept.is_supervisor && !kept.over) return;
  }
  std::for_each(kept_.begin() + 1, kept_.end(), term);
  if (std::all_of(kept_.begin() + 1, kept_.end(), over)) term(kept_.front());
}

void FarmUp::listen_to_control() {
  output_ += kept_.front().child.take_output();
  off_ = off_ || control_says_off(output_);
}

void FarmUp::turn(TimeNs now_ns) {
  for (Kept& kept : kept_) {
    if (kept.child.running()) {
      if (const auto end = kept.child.poll()) ended(kept, *end, now_ns);
    }
    if (kept.start_at && now_ns >= *kept.start_at && signals_ == 0) {
      if (const std::string error = start(kept); !error.empty()) say(error);
    }
    if (signals_ > 0 && !kept.child.running()) kept.over = true;
  }
  if (signals_ > 0) end_next();
  if (kill_at_ != 0 && now_ns >= kill_at_) {
    for (const Kept& kept : kept_) kept.child.send_signal(SIGKILL);
  }
}

std::string FarmUp::run() {
  loop_.on_signals({SIGINT, SIGTERM, SIGHUP, SIGCHLD}, [this](int signal) {
    if (signal == SIGCHLD) return;
    if (signals_++ == 0) say("ends: the run that is on is drained (Ctrl-C again kills)");
    kill_at_ = loop_.now_ns() + (signals_ > 1 ? 0 : kDrainPatience);
  });
  std::string failure = start_run_control();
  if (failure.empty()) failure = start_nodes();
  if (!failure.empty()) return failure;
  while (!everyone_over()) loop_.run_once([this](TimeNs now_ns) { turn(now_ns); }, kUpTurn);
  return {};
}

}  // namespace

int farm_up(const UpOptions& options, std::FILE* out, std::FILE* err) {
  auto loaded = load(options.farm);
  if (!loaded) {
    fmt::print(err, "{}\n", config::to_text(loaded.error()));
    return kExitUsage;
  }
  std::error_code error;
  std::filesystem::create_directories(loaded->farm.run().out() + "/log", error);
  if (error) {
    fmt::print(err, "weir up: run.out: cannot make '{}/log': {}\n", loaded->farm.run().out(),
               error.message());
    return kExitFailed;
  }
  try {
    const std::string failure = FarmUp(options, *loaded, out).run();
    if (failure.empty()) return kExitFine;
    fmt::print(err, "weir up: {}\n", failure);
  } catch (const std::exception& thrown) {
    fmt::print(err, "weir up: {}\n", thrown.what());
  }
  return kExitFailed;
}

}  // namespace weir::run
