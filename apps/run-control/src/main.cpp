#include <weir/config/farm_file.hpp>
#include <weir/launch/farms_here.hpp>
#include <weir/node/process.hpp>
#include <weir/node/standard_output.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/run_control/run_control.hpp>
#include <weir/telemetry/log.hpp>
#include <weir/transport/signals.hpp>

#include <CLI/CLI.hpp>
#include <malloc.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <unistd.h>

namespace {

constexpr weir::DurationNs kTurn = 100 * weir::kMillisecond;  // messages end it
constexpr int kLastTurns = 5;

std::atomic<int> signalled = 0;
void on_signal(int signal) { signalled = signal; }

// Address as seen from this machine.
std::string reached_at(const weir::bus::Hub& hub) {
  const std::string& host = hub.settings().host;
  const bool any = host == "0.0.0.0" || host == "::";
  return weir::ports::to_text({any ? "127.0.0.1" : host, hub.port()});
}

int run(weir::run_control::RunControlSettings settings) {
  // For the program that started the farm's processes: from now on they were ordered to end.
  settings.going_off = [] {
    std::printf("off\n");
    std::fflush(stdout);
  };
  const bool one_run = settings.one_run;
  weir::run_control::RunControl control(std::move(settings));
  // For the program that started this process and needs the ports.
  std::printf("run-control %u publish %u subscribe %u\n", control.hub().port(), control.hub().publish_port(),
              control.hub().subscribe_port());
  std::printf("page %s\n", control.page().empty() ? "none" : control.page().c_str());
  std::fflush(stdout);
  const weir::launch::FarmNote note({control.view().farm(), reached_at(control.hub())});
  while (signalled == 0 && !control.finished()) control.turn(kTurn);
  // Lets the client of `off` receive the result, and the page's readers the last state of their run: `weir
  // run` ends this process as soon as it has the run's account.
  const bool has_readers = one_run && !control.page().empty();
  for (int i = 0; i < kLastTurns && (signalled == 0 || has_readers); ++i) control.turn(kTurn);
  // The farm does not need it: a present run continues.
  spdlog::info("process ended reason={}", signalled != 0 ? "signal" : "off");
  // The status of a process that a signal ended: its unit starts it again.
  return signalled == 0 ? 0 : 128 + signalled;
}

// Log format of the farm's processes. Without a good farm file nothing is logged: run() reports the reason.
weir::telemetry::LogFormat log_format(const weir::run_control::RunControlSettings& settings) {
  auto read = weir::config::load_farm(settings.farm_file);
  if (!read) return weir::telemetry::LogFormat::text;
  for (const std::string& one : settings.sets) (void)weir::config::apply_override(read->farm, one);
  const bool json = read->farm.log().format() == weir::v1::LogSettings::FORMAT_JSON;
  return json ? weir::telemetry::LogFormat::json : weir::telemetry::LogFormat::text;
}

}  // namespace

int main(int argc, char** argv) {
  // A freed message of a client goes back to the system: glibc's own threshold grows with each of them.
  (void)::mallopt(M_MMAP_THRESHOLD, 64 << 10);
  weir::node::prepare_process();
  std::signal(SIGPIPE, SIG_IGN);
  weir::run_control::RunControlSettings settings;
  std::string log_level = "info";
  pid_t parent = ::getppid();
  CLI::App app("weir-run-control: leads a farm's processes from run to run");
  app.add_option("--farm", settings.farm_file, "farm file")->required();
  app.add_option("--set", settings.sets, "key of the farm file with its value: key=value");
  app.add_option("--listen", settings.listen, "address of the bus (HOST:PORT), instead of control.listen")
      ->take_last();
  app.add_option("--page", settings.page, "address of the farm's page (HOST:PORT), instead of control.page")
      ->take_last();
  app.add_flag("--one-run", settings.one_run,
               "end the farm's processes with their run; the program that started them keeps its records");
  app.add_flag("--begin-with-file", settings.begins_with_file,
               "forget keys that operators set in an earlier session, unless its run is still on");
  app.add_option("--fallback", settings.fallback,
                 "farm file to use if the other one is unusable or has other processes");
  app.add_option(
      "--memory", settings.memory,
      "file for the state that outlives this process, instead of run-control.state in control.out");
  app.add_option("--network", settings.network, "path of a second network namespace to listen in");
  app.add_option("--network-host", settings.network_host, "address there")->needs("--network");
  app.add_option("--log-level", log_level, "trace, debug, info, warning or error")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error"}));
  const CLI::Option* dies =
      app.add_option("--die-with-parent", parent, "PID of the starting process: end when it has ended")
          ->expected(0, 1)
          ->type_name("[PID]");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return weir::node::status_with_output(app.exit(error) == 0 ? 0 : 2);
  }
  if (!dies->empty()) weir::node::die_with_parent(parent);
  weir::transport::handle_signal(SIGINT, on_signal);
  weir::transport::handle_signal(SIGTERM, on_signal);
  weir::telemetry::LogSettings log;
  log.level = log_level;
  log.process = "run-control";
  log.format = log_format(settings);
  weir::telemetry::set_up_logging(log);
  try {
    return run(std::move(settings));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir-run-control: %s\n", error.what());
    return 2;
  }
}
