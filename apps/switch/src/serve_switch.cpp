#include "serve_switch.hpp"

#include "control_link.hpp"
#include "drop_rights.hpp"
#include "exposition.hpp"
#include "settings.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/owned_descriptor.hpp>
#include <weir/clock/clock.hpp>
#include <weir/http/server.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/telemetry/log.hpp>
#include <weir/telemetry/prometheus.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <sched.h>
#include <stdexcept>
#include <sys/signalfd.h>
#include <utility>

namespace weir::switch_node {
namespace {

constexpr DurationNs kReportEvery = kSecond;
constexpr DurationNs kLogEvery = 10 * kSecond;
constexpr DurationNs kAnswerWithin = 5 * kSecond;  // run control answers at once

// The last exposition, for the server's thread.
class Shown {
 public:
  void set(std::string text) {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
  }
  [[nodiscard]] std::string get() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

OwnedDescriptor end_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return OwnedDescriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

// The file's schema has checked the text.
ports::Endpoint endpoint_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {std::move(host), static_cast<std::uint16_t>(std::stoul(text.substr(colon + 1)))};
}

std::unique_ptr<http::Server> make_server(const std::string& address, const Shown& shown) {
  if (address.empty()) return nullptr;
  auto server = std::make_unique<http::Server>(endpoint_of(address));
  server->route("GET", "/metrics", [&shown](const http::HttpRequest&) {
    return http::HttpResponse{200, telemetry::kPrometheusContentType, shown.get(), {}};
  });
  return server;
}

// Returns true after a signal to end, false after a message or the limit.
bool is_ended(const OwnedDescriptor& signals, int messages, TimeNs limit_ns) {
  std::array<pollfd, 2> files{{{signals.get(), POLLIN, 0}, {messages, POLLIN, 0}}};
  (void)::poll(files.data(), files.size(), static_cast<int>(limit_ns / kMillisecond));
  return files[0].revents != 0;
}

class Service {
 public:
  // Opens the interfaces and the address of the metrics. Throws std::runtime_error.
  Service(const v1::Switch& table, const packet_switch::PacketSwitchSettings& settings)
      : name_(table.name()),
        user_(table.user()),
        switch_(settings),
        server_(make_server(table.metrics(), shown_)),
        began_ns_(monotonic_now_ns()) {
    WEIR_ASSERT(settings.interfaces.size() == settings.machine.ports.size());
  }

  [[nodiscard]] const std::string& user() const { return user_; }
  void start() {
    if (server_) server_->start();
    const switching::SwitchSettings& machine = switch_.settings();
    spdlog::info("switching queues=\"{}\" ports={} rings={}{}", switching::name_of(machine.queueing),
                 machine.ports.size(), machine.rings.size(),
                 server_ ? " metrics=" + ports::to_text(server_->endpoint()) : "");
  }

  // Forwards until a signal. Returns false if an interface no longer exists. `link`: to run control, or null.
  bool run(const OwnedDescriptor& signals, ControlLink* link, TableChoice& choice) {
    for (;;) {
      const int messages = link != nullptr ? link->file() : -1;
      std::array<pollfd, 3> files{
          {{switch_.file(), POLLIN, 0}, {signals.get(), POLLIN, 0}, {messages, POLLIN, 0}}};
      (void)::poll(files.data(), files.size(), static_cast<int>(kReportEvery / kMillisecond));
      if (files[1].revents != 0) return true;
      if (files[2].revents != 0) change(*link, choice);
      if (!switch_.run()) return false;
      const TimeNs now_ns = monotonic_now_ns();
      if (now_ns < next_report_ns_) continue;
      next_report_ns_ = now_ns + kReportEvery;
      report(now_ns, link);
    }
  }

  [[nodiscard]] int finish(std::FILE* out) {
    switch_.take_rest();
    const auto counts = switch_.counts();
    const double seconds = static_cast<double>(monotonic_now_ns() - began_ns_) / static_cast<double>(kSecond);
    std::fputs(summary_text(name_, switch_.settings(), counts, seconds).c_str(), out);
    return lost_frames(counts) > 0 ? kStatusLost : 0;
  }

 private:
  void change(ControlLink& link, TableChoice& choice) {
    auto next = link.take();
    if (std::exchange(run_, link.run()) != link.run()) {
      switch_.begin_period();
      next_report_ns_ = 0;
    }
    if (!next) return;
    switch_.change(*config::machine_of(next->file));  // checked by the choice
    spdlog::info("table changed digest={} rings={}", next->digest, switch_.settings().rings.size());
    choice.use(std::move(*next));
    next_report_ns_ = 0;
  }

  void report(TimeNs now_ns, ControlLink* link) {
    const auto counts = switch_.counts();
    shown_.set(prometheus_text(name_, switch_.settings(), counts));
    if (link != nullptr) {
      v1::SwitchReport report;
      add_counts(switch_.settings(), counts, report);
      report.set_run(run_);
      link->send(std::move(report));
    }
    const std::uint64_t lost = lost_frames(counts);
    WEIR_ASSERT(lost >= logged_);
    if (lost == logged_ || now_ns < next_log_ns_) return;
    next_log_ns_ = now_ns + kLogEvery;
    spdlog::warn("frames dropped count={} queue_full={} receive_full={} refused={}", lost - logged_,
                 counts.dropped(switching::FrameDrop::queue_full),
                 counts.dropped(switching::FrameDrop::receive_full),
                 counts.dropped(switching::FrameDrop::refused));
    logged_ = lost;
  }

  std::string name_;
  std::string user_;
  Shown shown_;
  packet_switch::PacketSwitch switch_;
  std::unique_ptr<http::Server> server_;  // shows shown_
  TimeNs began_ns_;
  TimeNs next_report_ns_ = 0;
  TimeNs next_log_ns_ = 0;
  std::uint32_t run_ = 0;  // in which the greatest depths are counted
  std::uint64_t logged_ = 0;
};

// Where a switch gets its tables.
struct Control {
  bus::ClientSettings bus;
  std::string name;
  UtcNs started_ns;
};

// Gives up all rights, and forwards until a signal. `control` is null for a switch with a file of its own.
int serve(Service& service, const OwnedDescriptor& signals, const Control* control, TableChoice& choice,
          std::FILE* out, std::FILE* err) {
  // A frame that waits for a CPU is late. Without the right to it the thread stays an ordinary one; those
  // that it starts are ordinary in any case. With pthread_setschedparam() the C library would tell ZeroMQ's
  // threads that they have inherited this priority, and they could not set it.
  const sched_param before_others{1};
  (void)::sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &before_others);
  if (const auto dropped = drop_rights(service.user()); !dropped) {
    std::fprintf(err, "weir-switch: %s\n", dropped.error().c_str());
    return kStatusUsage;
  }
  service.start();
  std::optional<ControlLink> link;
  if (control != nullptr) link.emplace(control->bus, control->name, control->started_ns, choice);
  const bool asked = service.run(signals, link ? &*link : nullptr, choice);
  if (!asked) spdlog::error("switch failed reason=\"an interface was removed\"");
  const int status = service.finish(out);
  return asked ? status : 1;
}

// Waits for a table with interfaces that can be opened, and tries again once a second. Returns null after a
// signal. The link ends here, because its threads still have all rights.
std::unique_ptr<Service> open_first(const Control& control, const OwnedDescriptor& signals,
                                    TableChoice& choice) {
  ControlLink link(control.bus, control.name, control.started_ns, choice);
  const TimeNs began_ns = monotonic_now_ns();
  TimeNs next_report_ns = began_ns;
  bool has_warned = false;
  while (!is_ended(signals, link.file(), std::max<TimeNs>(next_report_ns - monotonic_now_ns(), 0))) {
    if (auto table = link.take()) {
      try {
        auto service = std::make_unique<Service>(table->file.settings, *settings_of(table->file));
        choice.use(std::move(*table));
        return service;
      } catch (const std::exception& error) {
        choice.refuse(table->digest, error.what());
      }
    }
    const TimeNs now_ns = monotonic_now_ns();
    if (now_ns < next_report_ns) continue;
    next_report_ns = now_ns + kReportEvery;
    if (!link.answered() && !has_warned && now_ns - began_ns > kAnswerWithin) {
      has_warned = true;
      spdlog::warn("no answer from={}:{} reason=\"not running, or it has other keys\"", control.bus.host,
                   control.bus.port);
    }
    choice.try_again();
    link.send({});
  }
  return nullptr;
}

}  // namespace

int check_switch(const config::SwitchFile& file, std::FILE* out, std::FILE* err) {
  const auto settings = settings_of(file);
  if (!settings) {
    std::fprintf(err, "%s\n", config::to_text(settings.error()).c_str());
    return kStatusUsage;
  }
  for (const packet_switch::PortInterface& interface : settings->interfaces) {
    if (const auto problem = packet_switch::problem_of(interface)) {
      std::fprintf(err, "weir-switch: %s\n", problem->c_str());
      return kStatusUsage;
    }
  }
  const switching::Switch machine(settings->machine);
  constexpr std::uint64_t kMegabyte = 1'000'000;
  std::fprintf(out, "switch %s: %zu ports, %zu rings, %s; memory for %llu frames, %llu MB\n",
               file.settings.name().c_str(), settings->interfaces.size(), settings->machine.rings.size(),
               switching::name_of(settings->machine.queueing),
               static_cast<unsigned long long>(machine.memory_frames()),
               static_cast<unsigned long long>(machine.memory_frames() * settings->machine.frame_bytes_max /
                                               kMegabyte));
  return 0;
}

int serve_switch(const config::SwitchFile& file, std::FILE* out, std::FILE* err) {
  const auto settings = settings_of(file);
  if (!settings) {
    std::fprintf(err, "%s\n", config::to_text(settings.error()).c_str());
    return kStatusUsage;
  }
  try {
    const OwnedDescriptor signals = end_signals();
    telemetry::set_up_logging({.process = file.settings.name()});
    Service service(file.settings, *settings);
    TableChoice choice;
    return serve(service, signals, nullptr, choice, out, err);
  } catch (const std::exception& error) {
    std::fprintf(err, "weir-switch: %s\n", error.what());
    return kStatusUsage;
  }
}

int serve_switch(const bus::ClientSettings& bus, const std::string& name, std::FILE* out, std::FILE* err) {
  try {
    const OwnedDescriptor signals = end_signals();
    telemetry::set_up_logging({.process = name});
    spdlog::info("waiting for a table from={}:{}", bus.host, bus.port);
    const Control control{bus, name, utc_now_ns()};
    TableChoice choice;
    const auto service = open_first(control, signals, choice);
    return service ? serve(*service, signals, &control, choice, out, err) : 0;
  } catch (const std::exception& error) {
    std::fprintf(err, "weir-switch: %s\n", error.what());
    return kStatusUsage;
  }
}

}  // namespace weir::switch_node
