// A farm of processes under run control, DCMs of which come and go.
#include "output.hpp"
#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/base/time.hpp>
#include <weir/bench/changing_farm.hpp>
#include <weir/bus/client.hpp>
#include <weir/clock/clock.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/control/states.hpp>
#include <weir/launch/child.hpp>
#include <weir/node/paths.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/transport/loop.hpp>
#include <weir/v1/bus.pb.h>

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

namespace weir::bench {
namespace {

using control::Command;
using control::State;

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
    for (const Command command : {Command::init, Command::configure, Command::start}) transit(command);
    wait_until([this] { return begin_s_ > 0; }, "no report of the supervisor has come");
    change("begin", options_.dcms);
    std::uint32_t there = options_.dcms;
    double next_s = begin_s_;
    for (const FarmStep& step : changing_farm_steps(options_.dcms)) {
      run_to(next_s += options_.step_s);
      carry_out(step, there);
    }
    run_to(next_s + options_.step_s);
    const std::vector<StoredUntil> stored = stored_;
    transit(Command::stop);
    ChangingFarmResult result = account();
    result.stored = stored;
    result.phases = phases_of(stored, changes_);
    (void)ask(name(Command::off));
    launch::Child& control = children_[kRunControl];
    const double until_s = monotonic_now_s() + kPatienceS;
    while (control.running() && monotonic_now_s() < until_s) {
      (void)client_->wait(kLook);
      (void)control.poll();
    }
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
    bus::ClientSettings settings;
    settings.host = "127.0.0.1";
    settings.port = static_cast<std::uint16_t>(port);
    control_ = fmt::format("127.0.0.1:{}", port);
    client_.emplace(settings, std::function<void()>{});
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

  v1::Reply ask(std::string_view asked, const std::string& node = {}) {
    v1::BusMessage message;
    v1::Request& request = *message.mutable_request();
    request.set_id(++last_id_);
    const std::string command(asked);
    request.set_command(command);
    if (!node.empty()) request.add_nodes(node);
    client_->send(message);
    const double until_s = monotonic_now_s() + kPatienceS;
    while (monotonic_now_s() < until_s) {
      for (v1::BusMessage& answer : client_->wait(kLook)) {
        if (!answer.has_reply() || answer.reply().id() != last_id_) continue;
        if (!answer.reply().good()) throw std::runtime_error(command + ": " + answer.reply().error());
        return std::move(*answer.mutable_reply());
      }
    }
    throw std::runtime_error(command + ": run control does not answer");
  }

  void transit(Command step) {
    (void)ask(name(step));
    const std::string command(name(step));
    wait_until([this] { return view_.under_way().empty(); }, command + " is not done in time");
    if (view_.state() == name(State::error)) throw std::runtime_error(command + ": " + view_.reason());
  }

  template <class Condition>
  void wait_until(Condition condition, const std::string& complaint) {
    const double until_s = monotonic_now_s() + kPatienceS;
    do {
      if (monotonic_now_s() > until_s) throw std::runtime_error(complaint);
      turn();
    } while (!condition());
  }

  void run_to(double until_s) {
    while (monotonic_now_s() < until_s) {
      turn();
      if (view_.state() != name(State::running))
        throw std::runtime_error("the farm is " + view_.state() + " " + view_.reason());
    }
  }

  void turn() {
    (void)client_->wait(kLook);
    for (auto& [name, child] : children_) (void)child.poll();
    view_ = std::move(*ask(name(control::RequestKind::status)).mutable_view());
    for (const auto& node : view_.nodes()) {
      if (node.role() == name(Role::supervisor) && view_.state() == name(State::running)) take(node.report());
    }
  }

  void take(const v1::Report& report) {
    if (report.role() != v1::ROLE_SUPERVISOR || report.now_ns() == last_report_ns_) return;
    last_report_ns_ = report.now_ns();
    const double at_s = static_cast<double>(report.now_ns()) / kSecond;
    if (begin_s_ == 0) begin_s_ = at_s;
    stored_.push_back({at_s - begin_s_, reports::counter_of(report, "stored")});
  }

  void change(const std::string& what, std::uint32_t dcms) {
    changes_.push_back({changes_.empty() ? 0 : monotonic_now_s() - begin_s_, what, dcms});
  }

  void carry_out(const FarmStep& step, std::uint32_t& there) {
    switch (step.kind) {
      case FarmStep::Kind::remove:
        change("remove " + step.dcm, --there);
        (void)ask(name(control::RequestKind::remove), step.dcm);
        break;
      case FarmStep::Kind::add:
        change("add " + step.dcm, ++there);
        (void)ask(name(control::RequestKind::add), step.dcm);
        break;
      case FarmStep::Kind::kill:
        change("kill -9 " + step.dcm, --there);
        children_[step.dcm].send_signal(SIGKILL);
        break;
      case FarmStep::Kind::start:
        change("start " + step.dcm, ++there);
        start(step.dcm);
        break;
    }
  }

  ChangingFarmResult account() {
    wait_until([this] { return view_.runs_size() > 0; }, "the run has no account");
    const auto& run = view_.runs(0);
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
  std::optional<bus::Client> client_;
  std::uint64_t last_id_ = 0;
  std::map<std::string, std::string> programs_;
  std::map<std::string, launch::Child> children_;
  v1::FarmView view_;
  double begin_s_ = 0;  // of the first report in the run
  TimeNs last_report_ns_ = 0;
  std::vector<StoredUntil> stored_;
  std::vector<FarmChange> changes_;
};

}  // namespace

int run_changing_farm(const ChangingFarmOptions& options, std::FILE* out, std::FILE* err) {
  if (!options.out.empty() && !make_folder(options.out, err)) return 1;
  const ScratchFolder folder;
  ChangingFarmResult result;
  try {
    result = ChangingFarm(options, folder.path().string()).measure();
  } catch (const std::exception& error) {
    fmt::print(err, "weir bench: {}\n", error.what());
    return 1;
  }
  const std::string line = to_json_line(result, options);
  fmt::print(out, "{}\n", line);
  bool good = result.balanced;
  for (const Phase& phase : result.phases) {
    good = good && phase.good();
    fmt::print(err,
               "{:5.1f} s  {:<16} {} DCMs: {:.1f} slices/s, {:+.1f} % from the expected rate, after {} s\n",
               phase.change.at_s, phase.change.what, phase.change.dcms, phase.rate_hz,
               100 * phase.deviation(), phase.followed_s ? fmt::format("{:.1f}", *phase.followed_s) : "-");
  }
  fmt::print(err, "the ledger {}\n", result.balanced ? "balances" : "does NOT balance");
  if (!options.out.empty()) {
    const int written =
        write_output(options.out, options.name, line + "\n", table_of(result, options, machine()), err);
    if (written != 0) return written;
  }
  return good ? 0 : 1;
}

}  // namespace weir::bench
