// `weir soak`: takes a farm through random transitions and kills, and accounts for its runs.
#include "commands.hpp"
#include "control_connection.hpp"
#include <weir/base/figures.hpp>
#include <weir/clock/clock.hpp>
#include <weir/control/soak_plan.hpp>
#include <weir/control/states.hpp>
#include <weir/transport/signals.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>

namespace weir::commands {
namespace {

using control::Command;
using control::SoakStep;
using control::State;

constexpr int kFindings = 1;
constexpr double kSecondsPerHour = 3600;
constexpr double kPatienceS = 120;      // for a transition, and for killed processes to come back
constexpr double kEntryPatienceS = 15;  // for the account of a run that has ended
constexpr double kAnswerPatienceS = 30;

constexpr const char* kFooter =
    "\nThe farm must be up, without a run: `weir up FARM` in another terminal, or the processes on their "
    "hosts.\n"
    "Each run is started, paused, stopped, and its processes are killed, at random moments drawn from the "
    "seed;\n"
    "one in four times the farm is reset before the next run. Prints a line for each run, and at the end "
    "the\n"
    "sum of the ledgers and the findings. The runs' data stay on the disks. Ctrl-C stops the run and ends.";

struct SoakOptions {
  ConnectionOptions connection{{}, {}, {}, "operator"};
  double hours = 1;
  std::uint64_t seed = 1;
  control::SoakSettings settings{20, 3, 10};
};

class Soak {
 public:
  Soak(const SoakOptions& options, transport::SignalWatch& signals)
      : control_(options.connection, kAnswerPatienceS),
        signals_(signals),
        plan_(options.seed, options.settings),
        ends_s_(monotonic_now_s() + options.hours * kSecondsPerHour) {}

  // Returns the account of all runs. Throws std::invalid_argument if the farm is in a run.
  const control::SoakAccount& run() {
    const std::string state = control_.status().state();
    if (state != name(State::idle) && state != name(State::standby) && state != name(State::ready))
      throw std::invalid_argument("the farm is " + state + ": stop its run, or reset it, first");
    while (!is_over()) {
      if (!prepare() || !transit(Command::start)) break;
      go_through_run();
      if (!end_run()) break;
      if (!is_over() && plan_.resets_next() && !transit(Command::reset)) break;
    }
    return account_;
  }

 private:
  [[nodiscard]] bool is_over() { return monotonic_now_s() >= ends_s_ || signals_.received().has_value(); }

  // Waits until the condition on the farm holds. Returns false, and notes a finding, after `patience_s`.
  template <class Condition>
  bool wait_for(const Condition& condition, double patience_s, const std::string& finding) {
    const double until_s = monotonic_now_s() + patience_s;
    for (;;) {
      const v1::FarmView view = control_.status();
      if (condition(view)) return true;
      if (monotonic_now_s() > until_s) {
        std::string away;
        for (const auto& node : view.nodes())
          if (!node.live()) away += " " + node.name();
        account_.add_finding(fmt::format("{} after {:.0f} s: the farm is {} {}{}", finding, patience_s,
                                         view.state(), view.reason(), away.empty() ? "" : "; away:" + away));
        return false;
      }
      control_.pause();
    }
  }

  bool transit(Command command) {
    v1::Request request;
    request.set_command(std::string(name(command)));
    const v1::Reply reply = control_.ask(request);
    if (!reply.good()) {
      account_.add_finding(fmt::format("{} was refused: {}", name(command), reply.error()));
      return false;
    }
    account_.count_transition();
    const auto is_done = [](const v1::FarmView& view) { return view.under_way().empty(); };
    if (!wait_for(is_done, kPatienceS, fmt::format("{} is not done", name(command)))) return false;
    const v1::FarmView view = control_.status();
    if (view.state() != name(State::error) || command == Command::reset) return true;
    account_.add_finding(fmt::format("{} ended in error: {}", name(command), view.reason()));
    return false;
  }

  [[nodiscard]] static bool is_whole(const v1::FarmView& view) {
    for (const auto& node : view.nodes())
      if (!node.live() && !node.excluded()) return false;
    return view.under_way().empty();
  }

  // Takes the farm to ready, once every process is there.
  bool prepare() {
    if (!wait_for(is_whole, kPatienceS, "a process has not come back")) return false;
    if (control_.status().state() == name(State::idle) && !transit(Command::init)) return false;
    if (control_.status().state() == name(State::standby) && !transit(Command::configure)) return false;
    return wait_for([](const v1::FarmView& view) { return view.state() == name(State::ready); }, kPatienceS,
                    "the farm is not ready");
  }

  void wait_s(double seconds) {
    const double until_s = monotonic_now_s() + seconds;
    while (monotonic_now_s() < until_s && !is_over()) control_.pause();
  }

  void go_through_run() {
    run_kills_ = run_pauses_ = 0;
    for (const SoakStep& step : plan_.next_run()) {
      wait_s(step.after_s);
      if (is_over()) return;
      if (step.kind == SoakStep::Kind::kill) kill(step.victim);
      if (step.kind == SoakStep::Kind::pause) pause(step.lasts_s);
    }
  }

  // Only a whole farm is paused: another one may refuse.
  void pause(double seconds) {
    const v1::FarmView view = control_.status();
    if (!is_whole(view) || view.state() != name(State::running) || !transit(Command::pause)) return;
    ++run_pauses_;
    wait_s(seconds);
    (void)transit(Command::continue_run);
  }

  void kill(std::uint64_t victim) {
    const v1::FarmView view = control_.status();
    if (view.nodes_size() == 0) return;
    const auto& node = view.nodes(static_cast<int>(victim % static_cast<std::uint64_t>(view.nodes_size())));
    v1::Request request;
    request.set_command(std::string(name(control::RequestKind::kill)));
    request.add_nodes(node.name());
    if (!node.live() || !control_.ask(request).good()) return;  // it is being started again
    account_.count_kill();
    ++run_kills_;
  }

  // Stops the run and adds its account.
  bool end_run() {
    const v1::FarmView before = control_.status();
    const std::uint32_t number = before.run();
    const bool is_on = before.state() == name(State::running) || before.state() == name(State::paused);
    if (is_on && !transit(Command::stop)) return false;  // otherwise it has ended by itself
    v1::FarmView::Run entry;
    const auto has_entry = [&](const v1::FarmView& view) {
      for (const auto& run : view.runs()) {
        if (run.run() == number) entry = run;
      }
      return entry.run() == number;
    };
    if (!wait_for(has_entry, kEntryPatienceS, fmt::format("run {} has no account", number))) return false;
    account_.add({number, entry.balanced(), entry.failure(), entry.triggered(), entry.stored(),
                  entry.rejected(), entry.discarded(), entry.fault_count()});
    fmt::print("run {}: {:.0f} s, {}, {}, {} stored, {}\n", number,
               static_cast<double>(entry.duration_ns()) / kSecond, counted(run_kills_, "kill"),
               counted(run_pauses_, "pause"), grouped(entry.stored()), entry.outcome());
    std::fflush(stdout);
    return true;
  }

  ControlClient control_;
  transport::SignalWatch& signals_;
  control::SoakPlan plan_;
  double ends_s_;
  control::SoakAccount account_;
  std::uint64_t run_kills_ = 0;
  std::uint64_t run_pauses_ = 0;
};

int run_soak(const SoakOptions& options) {
  try {
    transport::SignalWatch signals{SIGINT, SIGTERM};
    Soak soak(options, signals);
    const control::SoakAccount& account = soak.run();
    fmt::print("{}", account.text());
    return account.is_good() ? 0 : kFindings;
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "weir soak: {}\n", error.what());
    return kUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weir soak: {}\n", error.what());
    return kUnreachable;
  }
}

}  // namespace

void add_soak(CLI::App& app, int& status) {
  auto options = std::make_shared<SoakOptions>();
  CLI::App* command = app.add_subcommand(
      "soak", "Take a farm through random transitions and kills for hours, and judge its runs");
  command->footer(kFooter);
  add_connection_options(*command, options->connection);
  command->add_option("--hours", options->hours, "hours after which to end")
      ->check(CLI::Range(0.0001, 10000.0))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "seed of the random moments")->capture_default_str();
  command->add_option("--run-s", options->settings.run_s, "mean length of a run in seconds")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  command
      ->add_option("--kill-every-s", options->settings.kill_every_s,
                   "mean time between kills in seconds; 0: none")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  command
      ->add_option("--pause-every-s", options->settings.pause_every_s,
                   "mean time between pauses in seconds; 0: none")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  command->callback([options, &status] { status = run_soak(*options); });
}

}  // namespace weir::commands
