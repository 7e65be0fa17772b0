// A farm of processes under run control, DCMs of which come and go.
#include "farm_operator.hpp"
#include "output.hpp"
#include "remote_nodes.hpp"
#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/base/time.hpp>
#include <weir/bench/changing_farm.hpp>
#include <weir/bench/conditions.hpp>
#include <weir/clock/clock.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/control/states.hpp>
#include <weir/launch/child.hpp>
#include <weir/node/paths.hpp>
#include <weir/transport/loop.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

namespace weir::bench {
namespace {

using control::Command;

constexpr DurationNs kLook = 40 * kMillisecond;
constexpr double kPatienceS = 60;  // for a transition of the farm
constexpr const char* kRunControl = "run-control";
std::string farm_text(const ChangingFarmOptions& options, const std::string& folder) {
  return fmt::format(
      "farm: bench-changing-farm\n"
      "run: {{out: '{0}'}}\n"
      "trigger: {{mode: max}}\n"
      "source: {{kind: dummy, distribution: fixed, size_bytes: 500, size_bytes_max: 500}}\n"
      "readout: {{count: 2, sources_per_readout: 1}}\n"
      "dcm: {{count: {1}, credits: 6}}\n"
      "supervisor: {{status_interval_ms: 100}}\n"
      "filter: {{plugin: busy, parameters: {{microseconds: '0', asleep: '{2:g}'}}}}\n"
      "writer: {{count: 1, sync_interval_ms: 20}}\n"
      "control: {{listen: '127.0.0.1:0'}}\n",
      folder, options.dcms, options.filter_ms * kUsPerMs);
}

// Errors: std::runtime_error with a message if the farm does not follow a command.
class ChangingFarm {
 public:
  ChangingFarm(const ChangingFarmOptions& options, std::string folder)
      : options_(options), folder_(std::move(folder)), path_(folder_ + "/farm.yaml") {
    std::ofstream(path_) << farm_text(options, folder_);
    start_run_control();
    const auto loaded = config::load_farm(path_);
    if (!loaded) throw std::runtime_error(config::to_text(loaded.error()));
    const auto plan = config::expand(loaded->farm, loaded->locations);
    if (!plan) throw std::runtime_error(config::to_text(plan.error()));
    for (const config::NodePlan& node : plan->nodes) {
      programs_[node.name] = "weir-" + std::string(name(node.role));
      start(node.name);
    }
  }

  ChangingFarmResult measure() {
    FarmOperator& farm = *operator_;
    for (const Command command : {Command::init, Command::configure, Command::start})
      farm.transit(name(command));
    farm.wait_until([&] { return farm.begin_s() > 0; }, "no report of the supervisor has come");
    farm.note_change("begin", options_.dcms);
    std::uint32_t there = options_.dcms;
    double next_s = farm.begin_s();
    for (const FarmStep& step : changing_farm_steps(options_.dcms)) {
      farm.run_to(next_s += options_.step_s);
      carry_out(step, there);
    }
    farm.run_to(next_s + options_.step_s);
    const std::vector<StoredUntil> stored = farm.stored();
    farm.transit(name(Command::stop));
    ChangingFarmResult result = account();
    result.stored = stored;
    result.phases = phases_of(stored, farm.changes());
    (void)farm.ask(name(Command::off));
    launch::Child& control = children_[kRunControl];
    transport::Loop loop{transport::SocketPolicy{}};
    const double until_s = monotonic_now_s() + kPatienceS;
    while (!control.poll() && control.running() && monotonic_now_s() < until_s)
      loop.run_once([](TimeNs) {}, kLook);
    if (control.running()) throw std::runtime_error("the farm does not end");
    return result;
  }

 private:
  void launch(const std::string& name, launch::ChildSettings child) {
    child.arguments.insert(child.arguments.end(), {"--farm", path_, "--log-level", "warning"});
    child.log_file = folder_ + "/" + name + ".log";
    child.append_log = true;
    auto started = launch::Child::start(child);
    if (!started) throw std::runtime_error(started.error());
    children_[name] = std::move(*started);
  }

  // It prints its address on standard output.
  void start_run_control() {
    launch::ChildSettings child;
    child.program = node::program_folder() + "/weir-run-control";
    child.read_output = true;
    launch(kRunControl, child);
    transport::Loop loop{transport::SocketPolicy{}};
    std::string said;
    unsigned port = 0;
    const double until_s = monotonic_now_s() + kPatienceS;
    while (said.find('\n') == said.npos) {
      said += children_[kRunControl].take_output();
      if (children_[kRunControl].poll() || monotonic_now_s() > until_s)
        throw std::runtime_error("run control does not begin: " + read_log(kRunControl));
      loop.run_once([](TimeNs) {}, kLook);
    }
    if (std::sscanf(said.c_str(), "run-control %u", &port) != 1)
      throw std::runtime_error("run control said: " + said);
    control_ = fmt::format("127.0.0.1:{}", port);
    operator_.emplace(control_, [this] {
      for (auto& [node, process] : children_) (void)process.poll();
    });
  }

  [[nodiscard]] std::string read_log(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name + ".log");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void start(const std::string& name) {
    launch::ChildSettings child;
    child.program = node::program_folder() + "/" + programs_[name];
    child.arguments = {"--name", name, "--control", control_};
    launch(name, child);
  }

  void carry_out(const FarmStep& step, std::uint32_t& there) {
    switch (step.kind) {
      case FarmStep::Kind::remove:
        operator_->remove(step.dcm, --there);
        break;
      case FarmStep::Kind::add:
        operator_->add(step.dcm, ++there);
        break;
      case FarmStep::Kind::kill:
        operator_->note_change("kill -9 " + step.dcm, --there);
        children_[step.dcm].send_signal(SIGKILL);
        break;
      case FarmStep::Kind::start:
        operator_->note_change("start " + step.dcm, ++there);
        start(step.dcm);
        break;
    }
  }

  ChangingFarmResult account() {
    operator_->wait_until([this] { return operator_->view().runs_size() > 0; }, "the run has no account");
    const auto& run = operator_->view().runs(0);
    ChangingFarmResult result;
    result.balanced = run.balanced();
    result.stored_slices = run.stored();
    result.discarded = run.discarded();
    result.reason = run.reason();
    return result;
  }

  const ChangingFarmOptions& options_;
  std::string folder_;
  std::string path_;
  std::string control_;  // where run control listens
  std::map<std::string, std::string> programs_;
  std::map<std::string, launch::Child> children_;
  std::optional<FarmOperator> operator_;
};

}  // namespace

int run_changing_farm(const ChangingFarmOptions& options, std::FILE* out, std::FILE* err) {
  const std::string where = where_now();
  Figure figure;
  figure.bench = "changing-farm";
  figure.needs_lab = options.remote;
  figure.groups = {{{options.output.name, [&] {
                       const ScratchFolder folder;
                       const std::string path = folder.path().string();
                       return Lines{line_of(options.remote ? measure_remote_nodes(options, path)
                                                           : ChangingFarm(options, path).measure(),
                                            options)};
                     }}}};
  figure.sentence = [](const Line& line) {
    const auto& phases = line.at("phases").as_array();
    const auto good =
        std::ranges::count_if(phases, [](const auto& phase) { return is_set(phase.as_object(), "good"); });
    return fmt::format("{} of {} phases have the expected rate; the ledger {}", good, phases.size(),
                       is_set(line, "ledger_balanced") ? "balances" : "does NOT balance");
  };
  figure.is_good = [](const Line& line) { return is_set(line, "_good"); };
  figure.page = [&](const Lines& lines) { return changing_farm_page(lines.front(), options, where); };
  return run_figure(figure, options.output, out, err);
}

}  // namespace weir::bench
