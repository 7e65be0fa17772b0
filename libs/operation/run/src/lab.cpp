#include "relay_counts.hpp"
#include <weir/base/assert.hpp>
#include <weir/config/rate.hpp>
#include <weir/lab/named.hpp>
#include <weir/lab/software_plan.hpp>
#include <weir/run/exit_status.hpp>
#include <weir/run/lab_command.hpp>
#include <weir/run/lab_run.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace weir::run {
namespace {

// Problems of a lab without a run.
config::Problems problems_without_a_run(const config::LabFile& file) {
  config::Problems problems;
  const auto report = [&](const char* key, const char* what) {
    problems.push_back({config::ProblemKind::inconsistent, config::Severity::error, file.locations.of(key),
                        std::string("lab.") + key, what});
  };
  if (file.lab.static_window())
    report("static_window",
           "ends with the process that loaded it, and none stays here: use weir run FARM --lab FILE; or set "
           "it to false, keep `weir-static-window SEGMENTS` running, and give your programs the congestion "
           "control that it prints");
  if (file.lab.port_queue() == v1::Lab::PORT_QUEUE_PER_DCM)
    report(
        "port_queue",
        "is per-dcm, and without a farm no host has DCMs: use weir run FARM --lab FILE, or set it to shared");
  return problems;
}

constexpr bool kLabStays = true;

Expected<lab::LabPlan, std::string> plan_of(const LabOptions& options, bool stays = false) {
  const auto file = load_lab(options.lab_file, options.sets);
  if (!file) return Unexpected<std::string>(file.error());
  if (const config::Problems problems = problems_without_a_run(*file); stays && !problems.empty())
    return Unexpected<std::string>(config::to_text(problems));
  auto plan = lab::plan_lab(*file, nullptr);
  if (!plan) return Unexpected<std::string>(config::to_text(plan.error()));
  return std::move(*plan);
}

int refuse(std::FILE* err, const std::string& why, int status) {
  fmt::print(err, "weir lab: {}\n", why);
  return status;
}

int refuse(std::FILE* err, const lab::NetworkError& error) {
  return refuse(err, error.what, error.usage ? kExitUsage : kExitFailed);
}

// Starts the process that relays the links of a lab that stays up. It ends when their devices are removed.
Expected<void, std::string> leave_relay(const lab::LabPlan& plan, const lab::LabNetwork& network) {
  auto listener = listen_for_counts(plan);
  if (!listener) return Unexpected<std::string>(listener.error());
  auto relay = lab::Relay::open(plan, network);
  if (!relay) return Unexpected<std::string>(relay.error());
  const pid_t pid = ::fork();
  if (pid < 0)
    return Unexpected<std::string>(std::string("cannot start the relay's process: ") + std::strerror(errno));
  if (pid > 0) return {};
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, stream);
  serve_counts(listener->get(), plan, *relay);
  relay->run();
  ::_exit(0);
}

void print_hosts(const lab::LabPlan& plan, std::FILE* out) {
  std::size_t width = 0;
  for (const lab::LabHost& host : plan.hosts) width = std::max(width, host.name.size());
  for (const lab::LabHost& host : plan.hosts) {
    WEIR_ASSERT(host.attached < plan.switches.size());
    fmt::print(out, "  {:<{}}  {:<13}  control {:<13}  at {}\n", host.name, width, host.address,
               host.control_address, plan.switches[host.attached]);
  }
}

// `port_buffer` is not all that a frame may wait in.
void print_switch_memory(const lab::LabPlan& plan, std::FILE* out) {
  if (!plan.software) return;
  const auto switches = lab::software_switches(plan);
  if (switches.empty()) return;
  const switching::SwitchSettings& machine = switches.front().settings.machine;
  fmt::print(
      out,
      "its switches hold frames in front of the ports' buffers: {} for each port, and up to {} on their "
      "way to it\n",
      machine.other_frames, machine.ports.front().transmit_frames);
}

}  // namespace

int lab_up(const LabOptions& options, std::FILE* out, std::FILE* err) {
  const auto plan = plan_of(options, kLabStays);
  if (!plan) return refuse(err, plan.error(), kExitUsage);
  if (!lab::names_present(plan->name).empty()) {
    return refuse(
        err, fmt::format("lab {} is up already: `weir lab down {}` ends it", plan->name, options.lab_file),
        kExitFailed);
  }
  const auto network = lab::LabNetwork::make(*plan);
  if (!network) return refuse(err, network.error());
  if (const auto named = lab::give_names(*plan, *network); !named) return refuse(err, named.error());
  if (plan->needs_relay()) {
    if (const auto left = leave_relay(*plan, *network); !left) {
      (void)lab::remove_names(plan->name);
      return refuse(err, left.error(), kExitFailed);
    }
  }
  if (const auto connected = network->connect_once(*plan); !connected) {
    lab::remove_relayed_links(*plan);
    (void)lab::remove_names(plan->name);
    return refuse(err, connected.error(), kExitFailed);
  }
  fmt::print(out, "lab {} is up: {}, {} hosts\n", plan->name, plan->topology, plan->hosts.size());
  print_hosts(*plan, out);
  print_switch_memory(*plan, out);
  fmt::print(out, "run something on a host:  ip netns exec weir.{}.{} COMMAND\nend it:  weir lab down {}\n",
             plan->name, plan->hosts.front().name, options.lab_file);
  return 0;
}

int lab_down(const LabOptions& options, std::FILE* out, std::FILE* err) {
  const auto plan = plan_of(options);
  if (!plan) return refuse(err, plan.error(), kExitUsage);
  const std::size_t present = lab::names_present(plan->name).size();
  if (present > 0) lab::remove_relayed_links(*plan);
  if (const auto removed = lab::remove_names(plan->name); !removed) return refuse(err, removed.error());
  fmt::print(out, "lab {} {}\n", plan->name, present == 0 ? "was not up" : "is down");
  return 0;
}

int lab_status(const LabOptions& options, std::FILE* out, std::FILE* err) {
  const auto plan = plan_of(options);
  if (!plan) return refuse(err, plan.error(), kExitUsage);
  if (lab::names_present(plan->name).empty()) {
    fmt::print(out, "lab {} is not up\n", plan->name);
    return kExitFailed;
  }
  const auto network = lab::LabNetwork::open(*plan, lab::named_paths(*plan));
  if (!network) return refuse(err, network.error());
  auto counters = lab::PortCounters::open(*plan, *network);
  if (!counters) return refuse(err, counters.error(), kExitFailed);
  fmt::print(out, "lab {} is up: {}, {} hosts\n", plan->name, plan->topology, plan->hosts.size());
  print_hosts(*plan, out);
  const std::vector<lab::Port> ports = plan->counted_ports();
  std::vector<lab::PortCount> counts = counters->read();
  counts.resize(ports.size());
  if (plan->has_fabric() || plan->software || plan->line) {
    if (const auto more = ask_for_counts(*plan)) {
      lab::add_counts(counts, *more);
    } else {
      fmt::print(out, "  the process that carries its frames does not answer: {} in no row\n",
                 plan->software ? "frames that its switches dropped are" : "its frames are");
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const lab::Port& port = ports[i];
    fmt::print(out, "  {:<24}  {:>9}  buffer {:>6}  {} bytes in {} frames sent, {} dropped\n", port.name,
               config::print_rate(port.rate_bits_per_s), config::print_buffer(port.buffer_bytes),
               counts[i].wire_bytes(), counts[i].packets, counts[i].drops);
  }
  print_switch_memory(*plan, out);
  return 0;
}

}  // namespace weir::run
