#include "shell.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/last_words/last_words.hpp>
#include <weir/node/address_in_use.hpp>
#include <weir/node/main.hpp>
#include <weir/node/metrics_export.hpp>
#include <weir/node/process.hpp>
#include <weir/node/recordings.hpp>
#include <weir/node/run_folder.hpp>
#include <weir/node/standard_output.hpp>
#include <weir/node/standstill_report.hpp>
#include <weir/telemetry/log.hpp>

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <unistd.h>

namespace weir::node {
namespace {

constexpr DurationNs kPassWait = 5 * kMillisecond;
constexpr int kEndedFromInside = 70;  // exit status (EX_SOFTWARE)

// Without this, a library that calls exit() would end the process with a good status.
std::atomic<bool> in_order = true;
void refuse_exit() {
  if (in_order) return;
  last_words::note_status(kEndedFromInside);
  constexpr std::string_view kWhy =
      "process failed reason=\"exit() was called inside the process, perhaps by a plugin\"\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kWhy.data(), kWhy.size());
  ::_exit(kEndedFromInside);
}
struct InOrder {
  InOrder() {
    in_order = false;
    std::atexit(refuse_exit);
  }
  ~InOrder() { in_order = true; }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
};

void set_up_logging(const Setup& setup, const CommandLine& line) {
  constexpr const char* kLevels[] = {"trace", "debug", "info", "warning", "error"};
  telemetry::LogSettings log;
  log.level = line.log_level.empty() ? kLevels[setup.farm.log().level()] : line.log_level;
  log.format = setup.farm.log().format() == v1::LogSettings::FORMAT_JSON ? telemetry::LogFormat::json
                                                                         : telemetry::LogFormat::text;
  log.process = setup.self.name;
  log.run = setup.run.value;
  telemetry::set_up_logging(log);
}

// Ends without destructors, because something still uses the process' memory.
[[noreturn]] void end_at_once(int status) {
  spdlog::default_logger()->flush();
  last_words::close();
  ::_exit(status);
}

int run(const Setup& setup, Role role, const MakeNode& make) {
  int signalled = 0;
  StandstillReport pauses;
  transport::Loop loop(socket_policy(setup));
  const std::unique_ptr<Node> node = make(setup, loop);
  loop.on_signals({SIGINT, SIGTERM}, [&](int signal) {
    signalled = signal;
    node->on_signal(signal == SIGINT ? "SIGINT" : "SIGTERM");
  });
  loop.run(
      [&](TimeNs now_ns) {
        if (const std::string pause = pauses.look(); !pause.empty()) spdlog::warn("process {}", pause);
        node->pass(now_ns);
        loop.wake_at(node->wake_at_ns());
        if (node->finished()) loop.stop();
      },
      kPassWait);
  const TimeNs flush_until = loop.now_ns() + kFlushMax;
  while (loop.unsent_bytes() > 0 && loop.now_ns() < flush_until) loop.run_once([](TimeNs) {}, kMillisecond);
  int status = status_of_signal(role, signalled);
  if (const std::string why = node->failure(); !why.empty()) {
    spdlog::error("process failed reason=\"{}\"", why);
    status = 1;
  } else {
    spdlog::info("process ended");
  }
  if (!node->let_go()) end_at_once(status);
  return status;
}

int run_under_control(const CommandLine& line, Role role, const MakeNode& make, bool has_plugins,
                      const Setup& setup, const std::string& control, MetricsExport* metrics) {
  auto shell =
      std::make_unique<Shell>(line, role, make, has_plugins, setup, parse_endpoint(control), metrics);
  const int status = shell->run();
  const bool left_behind = shell->left_behind();
  shell.reset();
  if (left_behind) end_at_once(status);
  return status;
}

// Tries the plugins of the farm that run control sends on standard input. This host's farm file, if it is
// readable, gives the lines of the keys.
std::string trial_text(const CommandLine& line, const TryPlugins& try_plugins) {
  config::PlannedFarm planned;
  if (!planned.farm.ParseFromFileDescriptor(STDIN_FILENO)) return "standard input has no farm";
  config::Locations locations;
  if (auto file = config::load_farm(line.farm_file)) {
    for (const std::string& set : line.sets) (void)config::apply_override(file->farm, set, &file->locations);
    locations = std::move(file->locations);
  }
  auto plan = config::expand(planned.farm, locations, read_recording);
  if (!plan) return config::to_text(plan.error());
  planned.plan = std::move(*plan);
  const auto& nodes = planned.plan.nodes;
  const auto self = std::find_if(nodes.begin(), nodes.end(),
                                 [&](const config::NodePlan& node) { return node.name == line.name; });
  if (self == nodes.end()) return "the farm has no node '" + line.name + "'";
  return config::to_text(try_plugins(planned, *self, locations));
}

// Prints problems to standard output, for the parent. The plugin's own output goes to standard error.
int print_trial(const CommandLine& line, const TryPlugins& try_plugins) {
  // The processes that the plugin started, and may wait for, end with this one.
  if (::getpgrp() == ::getpid()) std::signal(SIGTERM, [](int) { ::kill(0, SIGKILL); });
  const int out = ::dup(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  const std::string text = trial_text(line, try_plugins);
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t now = ::write(out, text.data() + written, text.size() - written);
    if (now <= 0) break;
    written += static_cast<std::size_t>(now);
  }
  // The plugin's threads may still be running.
  ::_exit(text.empty() ? 0 : 2);
}

// Beside the log, or in the folder that systemd gives to a unit.
std::string last_words_file(const Setup& setup) {
  const char* state = std::getenv("STATE_DIRECTORY");
  const std::string folder = state != nullptr ? state : setup.farm.run().out() + "/log";
  return folder + "/" + setup.self.name + ".last";
}

int run_whole(const CommandLine& line, Role role, const MakeNode& make, const TryPlugins& try_plugins,
              Setup& setup) {
  const std::string& control = line.control.empty() ? setup.farm.control().listen() : line.control;
  const auto metrics = make_metrics_export(setup);
  if (const std::string where = exposed_at(setup); !where.empty())
    spdlog::warn("unprotected at={}: without security.key_file any process that reaches it may connect",
                 where);
  try {
    if (!line.alone && !control.empty()) {
      return run_under_control(line, role, make, try_plugins != nullptr, setup, control, metrics.get());
    }
    setup.reports = metrics.get();
    resolve_out(setup, {});
    return run(setup, role, make);
  } catch (const AddressInUse& error) {
    spdlog::error("process failed reason=\"{}\"", error.what());
    return kAddressInUse;
  } catch (const std::exception& error) {
    spdlog::error("process failed reason=\"{}\"", error.what());
    return 1;
  }
}

}  // namespace

int status_of_signal(Role role, int signal) {
  return role == Role::supervisor || signal == 0 ? 0 : kSignalBase + signal;
}

int run_node_main(int argc, char** argv, Role role, const char* description, const MakeNode& make,
                  const TryPlugins& try_plugins) {
  prepare_process();
  CommandLine line;
  pid_t parent = ::getppid();
  CLI::App app(description);
  app.add_option("--farm", line.farm_file, "farm file")->required();
  app.add_option("--name", line.name, "name of this node in the farm file")->required();
  app.add_option("--set", line.sets, "key of the farm file with its value: key=value");
  app.add_option("--supervisor", line.supervisor,
                 "address of the supervisor (HOST:PORT), instead of supervisor.listen");
  app.add_option("--listen", line.listen, "address of this node (HOST:PORT), instead of the farm file's");
  app.add_option("--plane", line.planes,
                 "address of this readout (HOST:PORT) in the next of network.planes after the first");
  app.add_option("--source", line.sources,
                 "address of this node's connections to the network of its first BITS")
      ->type_name("ADDRESS/BITS");
  app.add_option("--log-level", line.log_level,
                 "log level, instead of log.level: trace, debug, info, warning or error")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error"}));
  app.add_option("--control", line.control, "address of run control (HOST:PORT), instead of control.listen");
  app.add_flag("--alone", line.alone, "make one run without run control, regardless of the farm file");
  app.add_flag("--one-run", line.one_run, "make one run under run control, and end with it");
  app.add_option("--after", line.after,
                 "end of the process that this one replaces, for logs and run control");
  bool tries = false;
  // Used by the shell process; hidden from the help.
  if (try_plugins) app.add_flag("--try-plugins", tries)->group("");
  const CLI::Option* dies =
      app.add_option("--die-with-parent", parent, "PID of the starting process: end when it has ended")
          ->expected(0, 1)
          ->type_name("[PID]");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return status_with_output(app.exit(error) == 0 ? 0 : 2);
  }
  if (!dies->empty()) die_with_parent(parent);
  std::signal(SIGPIPE, SIG_IGN);
  const InOrder guard;
  if (tries) return print_trial(line, try_plugins);
  Setup setup;
  try {
    setup = make_setup(line, role);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  if (const std::string why = allow_descriptors(setup.plan.nodes.size()); !why.empty()) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 2;
  }
  set_up_logging(setup, line);
  line.after = last_words::combine(line.after, last_words::open(last_words_file(setup)));
  const int status = run_whole(line, role, make, try_plugins, setup);
  last_words::close();
  return status;
}

}  // namespace weir::node
