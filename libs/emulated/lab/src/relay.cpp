#include "relay_work.hpp"
#include <weir/lab/relay.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <thread>
#include <utility>

namespace weir::lab {
namespace {

epoll_event event_of(std::uint64_t name, bool reading) {
  epoll_event event{};
  event.events = reading ? EPOLLIN : 0U;
  event.data.u64 = name;
  return event;
}

}  // namespace

RelayEvents::RelayEvents() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

void RelayEvents::watch(int file, std::uint64_t name) {
  epoll_event event = event_of(name, true);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, file, &event) != 0)
    throw std::runtime_error(fmt::format("the relay's event queue: {}", std::strerror(errno)));
}

void RelayEvents::set_reading(int file, std::uint64_t name, bool on) {
  epoll_event event = event_of(name, on);
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, file, &event);
}

class Relay::Loop {
 public:
  explicit Loop(std::unique_ptr<RelayWork> work)
      : work_(std::move(work)),
        stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    events_.watch(stop_.get(), kStop);
    events_.watch(timer_.get(), kTimer);
    std::uint64_t device = 0;
    for (const int file : work_->devices()) events_.watch(file, device++);
  }
  ~Loop() {
    // If no thread runs, the event may be shared with a process that runs the links.
    if (!thread_.joinable()) return;
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void start() {
    thread_ = std::thread([this] { run(); });
  }

  void run() {
    // A frame that waits for a CPU is late. Without the right to it the thread stays an ordinary one.
    const sched_param before_others{1};
    ::pthread_setschedparam(::pthread_self(), SCHED_RR, &before_others);
    std::array<epoll_event, kEventsPerWait> events{};
    for (;;) {
      set_timer();
      const int count = ::epoll_wait(events_.get(), events.data(), kEventsPerWait, -1);
      if (count < 0 && errno != EINTR) return;
      const std::lock_guard working(working_);
      if (!work_->send_due(events_)) return;
      for (int i = 0; i < count; ++i) {
        const std::uint64_t event = events[static_cast<std::size_t>(i)].data.u64;
        if (event == kStop) return;
        if (event != kTimer && !work_->receive(event, events_)) return;
      }
    }
  }

  void set_down(bool down) { work_->set_down(down); }

  [[nodiscard]] std::array<PortCount, 2> line_counts() const {
    const std::lock_guard not_working(working_);
    return work_->line_counts();
  }
  [[nodiscard]] std::vector<PortCount> port_counts() const {
    std::vector<PortCount> counts;
    {
      const std::lock_guard not_working(working_);
      counts = work_->port_counts();
    }
    work_->add_device_drops(counts);
    return counts;
  }
  [[nodiscard]] reports::RelayReport report() const {
    const std::lock_guard not_working(working_);
    return work_->report();
  }

 private:
  static constexpr std::uint64_t kStop = UINT64_MAX;
  static constexpr std::uint64_t kTimer = kStop - 1;
  static constexpr int kEventsPerWait = 16;

  void set_timer() {
    const TimeNs due = work_->due_ns().value_or(0);  // 0: never
    if (due == timer_ns_) return;
    timer_ns_ = due;
    const itimerspec at{{0, 0}, {due / kSecond, due % kSecond}};
    ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
  }

  mutable std::mutex working_;  // held while frames move; a report waits for it
  std::unique_ptr<RelayWork> work_;
  OwnedDescriptor stop_;
  OwnedDescriptor timer_;
  RelayEvents events_;
  TimeNs timer_ns_ = 0;
  std::thread thread_;
};

Relay::Relay(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
Relay::~Relay() = default;
Relay::Relay(Relay&& other) noexcept = default;
Relay& Relay::operator=(Relay&& other) noexcept = default;

Expected<Relay, std::string> Relay::open(const LabPlan& plan, const LabNetwork& network) {
  try {
    return Relay(std::make_unique<Loop>(plan.has_fabric() ? relay_switches(plan, network)
                                        : plan.software   ? relay_software(plan, network)
                                                          : relay_links(plan, network)));
  } catch (const std::exception& error) {
    return Unexpected<std::string>(error.what());
  }
}

void Relay::start() { loop_->start(); }
void Relay::run() { loop_->run(); }
void Relay::set_down(bool down) { loop_->set_down(down); }
std::array<PortCount, 2> Relay::line_counts() const { return loop_->line_counts(); }
std::function<std::vector<PortCount>()> Relay::port_counter() const {
  return [loop = loop_.get()] { return loop->port_counts(); };
}
reports::RelayReport Relay::report() const { return loop_->report(); }

}  // namespace weir::lab
