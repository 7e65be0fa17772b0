#include "sockets.hpp"
#include "units.hpp"
#include <weir/clock/clock.hpp>
#include <weir/lab/traffic.hpp>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>

namespace weir::lab {
namespace {

constexpr std::size_t kChunkBytes = 65536;
constexpr DurationNs kTurn = kMillisecond;            // interval at which a paced flow sends
constexpr DurationNs kBehindMax = 10 * kMillisecond;  // how much a delayed flow may catch up at once

void make_nonblocking(const OwnedDescriptor& socket) {
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace

DurationNs Pace::active_ns(DurationNs elapsed_ns) const {
  const DurationNs end = stop_ns_ == 0 ? elapsed_ns : std::min(elapsed_ns, stop_ns_);
  return std::max<DurationNs>(end - start_ns_, 0);
}

DurationNs Pace::wait_ns(DurationNs elapsed_ns) const {
  if (over(elapsed_ns)) return kSecond;
  return elapsed_ns < start_ns_ ? std::min(start_ns_ - elapsed_ns, kSecond) : kTurn;
}

std::uint64_t Pace::room(DurationNs elapsed_ns, std::uint64_t sent) const {
  if (elapsed_ns < start_ns_ || over(elapsed_ns)) return 0;
  if (rate_ == 0) return UINT64_MAX;
  const double bytes_per_ns = static_cast<double>(rate_) / (kBitsPerByte * static_cast<double>(kSecond));
  const auto due = static_cast<std::uint64_t>(static_cast<double>(active_ns(elapsed_ns)) * bytes_per_ns);
  const auto burst = static_cast<std::uint64_t>(static_cast<double>(kBehindMax) * bytes_per_ns) + kChunkBytes;
  return due > sent ? std::min(due - sent, burst) : 0;
}

class Traffic::Flows {
 public:
  Flows() : stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), zeros_(kChunkBytes) {}
  ~Flows() { end(); }
  Flows(const Flows&) = delete;
  Flows& operator=(const Flows&) = delete;

  void add(const LabPlan& plan, const Foreign& foreign, HostConnection connection) {
    make_nonblocking(connection.from);
    make_nonblocking(connection.to);
    flows_.push_back({plan.hosts[foreign.from].name, plan.hosts[foreign.to].name, foreign.rate_bits_per_s,
                      Pace(foreign.rate_bits_per_s, foreign.start_ns, foreign.stop_ns), std::move(connection),
                      0, 0, false});
  }

  void start(TimeNs began_ns) {
    if (thread_.joinable()) return;
    began_ns_ = began_ns;
    thread_ = std::thread([this] { run(); });
  }

  std::vector<reports::ForeignReport> report() {
    end();
    std::vector<reports::ForeignReport> reports;
    for (const Flow& flow : flows_) {
      const DurationNs active = began_ns_ == 0 ? 0 : flow.pace.active_ns(ended_ns_ - began_ns_);
      reports.push_back({flow.from, flow.to, flow.rate, flow.received,
                         static_cast<double>(active) / static_cast<double>(kSecond)});
    }
    return reports;
  }

 private:
  struct Flow {
    std::string from;
    std::string to;
    std::uint64_t rate = 0;
    Pace pace;
    HostConnection connection;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    bool closed = false;
  };

  void end() {
    ::eventfd_write(stop_.get(), 1);
    if (thread_.joinable()) thread_.join();
  }

  void run() {
    std::vector<pollfd> files;
    for (;;) {
      files.assign(1, {stop_.get(), POLLIN, 0});
      DurationNs wait = kSecond;
      const DurationNs elapsed = monotonic_now_ns() - began_ns_;
      for (Flow& flow : flows_) {
        if (flow.closed) continue;
        files.push_back({flow.connection.to.get(), POLLIN, 0});
        if (flow.pace.over(elapsed)) {
          flow.connection.from.reset();  // data in flight still arrives
        } else if (send_some(flow, elapsed)) {
          wait = std::min(wait, flow.pace.wait_ns(elapsed));
        } else {
          files.push_back({flow.connection.from.get(), POLLOUT, 0});
        }
      }
      const timespec timeout{wait / kSecond, wait % kSecond};
      ::ppoll(files.data(), files.size(), &timeout, nullptr);
      ended_ns_ = monotonic_now_ns();
      if (files[0].revents != 0) return;
      for (Flow& flow : flows_) receive(flow);
    }
  }

  // Returns false if the socket takes no more for now.
  bool send_some(Flow& flow, DurationNs elapsed) {
    for (std::uint64_t room = flow.pace.room(elapsed, flow.sent); room > 0;) {
      const ssize_t size = ::send(flow.connection.from.get(), zeros_.data(),
                                  std::min<std::uint64_t>(room, zeros_.size()), MSG_NOSIGNAL);
      if (size <= 0) return false;
      flow.sent += static_cast<std::uint64_t>(size);
      room -= std::min(room, static_cast<std::uint64_t>(size));
    }
    return true;
  }

  void receive(Flow& flow) const {
    if (flow.closed) return;
    for (;;) {
      // For TCP, MSG_TRUNC discards the bytes without copying them.
      const ssize_t size = ::recv(flow.connection.to.get(), nullptr, 1U << 20, MSG_TRUNC);
      if (size == 0) flow.closed = true;
      if (size <= 0) return;
      flow.received += static_cast<std::uint64_t>(size);
    }
  }

  OwnedDescriptor stop_;
  std::vector<char> zeros_;
  std::vector<Flow> flows_;
  TimeNs began_ns_ = 0;
  TimeNs ended_ns_ = 0;
  std::thread thread_;
};

Traffic::Traffic(std::unique_ptr<Flows> flows) : flows_(std::move(flows)) {}
Traffic::~Traffic() = default;
Traffic::Traffic(Traffic&& other) noexcept = default;
Traffic& Traffic::operator=(Traffic&& other) noexcept = default;

Expected<Traffic, std::string> Traffic::open(const LabPlan& plan, const LabNetwork& network,
                                             const std::string& congestion_control) {
  auto flows = std::make_unique<Flows>();
  try {
    for (const Foreign& foreign : plan.foreign) {
      const std::string& own = plan.hosts[foreign.from].congestion_control;
      flows->add(
          plan, foreign,
          connect_hosts(plan, network, foreign.from, foreign.to, own.empty() ? congestion_control : own));
    }
  } catch (const std::exception& error) {
    return Unexpected<std::string>(std::string("foreign traffic: ") + error.what());
  }
  return Traffic(std::move(flows));
}

void Traffic::start(DurationNs ago_ns) { flows_->start(monotonic_now_ns() - ago_ns); }
std::vector<reports::ForeignReport> Traffic::stop() { return flows_->report(); }

}  // namespace weir::lab
