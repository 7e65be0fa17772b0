#include "serve_switch.hpp"

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

#include <array>
#include <csignal>
#include <memory>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <sys/signalfd.h>
#include <utility>

namespace weir::switch_node {
namespace {

constexpr DurationNs kReportEvery = kSecond;
constexpr DurationNs kLogEvery = 10 * kSecond;

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

class Service {
 public:
  Service(const std::string& name, const packet_switch::PacketSwitchSettings& settings)
      : name_(name), settings_(settings), switch_(settings), began_ns_(monotonic_now_ns()) {
    WEIR_ASSERT(settings.interfaces.size() == settings.machine.ports.size());
  }

  // Returns false if an interface no longer exists.
  bool run(const OwnedDescriptor& signals, Shown& shown) {
    for (;;) {
      std::array<pollfd, 2> files{{{switch_.file(), POLLIN, 0}, {signals.get(), POLLIN, 0}}};
      (void)::poll(files.data(), files.size(), static_cast<int>(kReportEvery / kMillisecond));
      if (files[1].revents != 0) return true;
      if (!switch_.run()) return false;
      const TimeNs now_ns = monotonic_now_ns();
      if (now_ns < next_report_ns_) continue;
      next_report_ns_ = now_ns + kReportEvery;
      report(now_ns, shown);
    }
  }

  [[nodiscard]] int finish(std::FILE* out) {
    const auto counts = switch_.counts();
    const double seconds = static_cast<double>(monotonic_now_ns() - began_ns_) / static_cast<double>(kSecond);
    std::fputs(summary_text(name_, settings_.machine, counts, seconds).c_str(), out);
    return lost_frames(counts) > 0 ? kStatusLost : 0;
  }

 private:
  void report(TimeNs now_ns, Shown& shown) {
    const auto counts = switch_.counts();
    shown.set(prometheus_text(name_, settings_.machine, counts));
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
  packet_switch::PacketSwitchSettings settings_;
  packet_switch::PacketSwitch switch_;
  TimeNs began_ns_;
  TimeNs next_report_ns_ = 0;
  TimeNs next_log_ns_ = 0;
  std::uint64_t logged_ = 0;
};

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

}  // namespace

int check_switch(const config::SwitchFile& file, std::FILE* out, std::FILE* err) {
  const auto settings = settings_of(file);
  if (!settings) {
    std::fprintf(err, "%s\n", config::to_text(settings.error()).c_str());
    return kStatusUsage;
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
    Shown shown;
    Service service(file.settings.name(), *settings);
    const auto server = make_server(file.settings.metrics(), shown);
    // A frame that waits for a CPU is late. Without the right to it the thread stays an ordinary one.
    const sched_param before_others{1};
    (void)::pthread_setschedparam(::pthread_self(), SCHED_RR, &before_others);
    if (const auto dropped = drop_rights(file.settings.user()); !dropped) {
      std::fprintf(err, "weir-switch: %s\n", dropped.error().c_str());
      return kStatusUsage;
    }
    telemetry::set_up_logging({.process = file.settings.name()});
    if (server) server->start();
    spdlog::info("switching queues=\"{}\" ports={} rings={}{}",
                 switching::name_of(settings->machine.queueing), settings->interfaces.size(),
                 settings->machine.rings.size(),
                 server ? " metrics=" + ports::to_text(server->endpoint()) : "");
    const bool asked = service.run(signals, shown);
    if (!asked) spdlog::error("switch failed reason=\"an interface was removed\"");
    const int status = service.finish(out);
    return asked ? status : 1;
  } catch (const std::exception& error) {
    std::fprintf(err, "weir-switch: %s\n", error.what());
    return kStatusUsage;
  }
}

}  // namespace weir::switch_node
