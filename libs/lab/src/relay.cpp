#include "space.hpp"
#include <weir/clock/clock.hpp>
#include <weir/lab/delay_line.hpp>
#include <weir/lab/relay.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <map>
#include <mutex>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <thread>
#include <utility>
#include <vector>

namespace weir::lab {
namespace {

constexpr std::size_t kFrameBytesMax = 65536;
constexpr std::size_t kDevicesBytesMax = std::size_t{1} << 20;
constexpr int kSendDropColumn = 12;
constexpr int kFramesPerTurn = 64;  // per direction and turn

// Returns the frames dropped because the queue between kernel and relay was full, from a file like
// /proc/net/dev.
std::uint64_t dropped_at(int devices, const std::string& device) {
  std::string text(kDevicesBytesMax, '\0');
  const ssize_t size = ::pread(devices, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t at = text.find(" " + device + ":");
  if (at == text.npos) return 0;
  std::istringstream columns(text.substr(text.find(':', at) + 1));
  std::uint64_t value = 0;
  for (int column = 0; column < kSendDropColumn && columns >> value; ++column) {
  }
  return value;
}

OwnedDescriptor open_tap(const std::string& device) {
  OwnedDescriptor tap(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  device.copy(static_cast<char*>(request.ifr_name), IFNAMSIZ - 1);
  if (!tap.is_open() || ::ioctl(tap.get(), TUNSETIFF, &request) != 0) {
    throw std::runtime_error(fmt::format("the link's end '{}': {}", device, std::strerror(errno)));
  }
  return tap;
}

}  // namespace

class Relay::Loop {
 public:
  // One end of a relayed link. Frames that arrive here take one of its directions.
  struct RelayEnd {
    std::string device;
    OwnedDescriptor tap;
    std::shared_ptr<OwnedDescriptor> devices;  // /proc/net/dev of its namespace
    std::atomic<std::uint64_t> bytes{0};       // that left at the other end
    std::atomic<std::uint64_t> packets{0};
    std::atomic<std::uint64_t> drops{0};
    std::uint64_t refused = 0;  // by the device at the other end, or while the line was down

    [[nodiscard]] PortCount count() const {
      PortCount count;
      count.bytes = bytes.load(std::memory_order_relaxed);
      count.packets = packets.load(std::memory_order_relaxed);
      count.drops = drops.load(std::memory_order_relaxed) + dropped_at(devices->get(), device);
      return count;
    }
  };

  // `ends`: two for each link, in the order of LinkDelays' directions.
  Loop(std::vector<RelayedLink> links, bool has_line, std::vector<std::unique_ptr<RelayEnd>> ends)
      : links_(std::move(links)),
        has_line_(has_line),
        ends_(std::move(ends)),
        delays_(links_),
        stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
        events_(::epoll_create1(EPOLL_CLOEXEC)) {
    watch(stop_, kStop);
    watch(timer_, kTimer);
    for (std::size_t i = 0; i < ends_.size(); ++i) watch(ends_[i]->tap, i);
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
      if (!send_due()) return;
      for (int i = 0; i < count; ++i) {
        const std::uint64_t event = events[static_cast<std::size_t>(i)].data.u64;
        if (event == kStop) return;
        if (event != kTimer && !(receive(event) && send_due())) return;
      }
    }
  }

  void set_down(bool down) { down_.store(down, std::memory_order_relaxed); }

  [[nodiscard]] std::array<PortCount, 2> line_counts() const {
    return {ends_[0]->count(), ends_[1]->count()};
  }

  [[nodiscard]] RelayReport report() const {
    RelayReport report;
    report.links = links_.size();
    for (const RelayedLink& link : links_) {
      if (report.delay_ns == 0 || (link.delay_ns > 0 && link.delay_ns < report.delay_ns))
        report.delay_ns = link.delay_ns;
    }
    for (std::size_t i = has_line_ ? 2 : 0; i < ends_.size(); ++i) report.dropped += ends_[i]->count().drops;
    const std::lock_guard not_working(working_);
    const metrics::ValueHistogram& late = delays_.lateness_us();
    report.frames = late.count();
    report.late_p50_us = late.percentile(50);
    report.late_p99_us = late.percentile(99);
    report.late_max_us = late.max();
    return report;
  }

 private:
  static constexpr std::uint64_t kStop = UINT64_MAX;
  static constexpr std::uint64_t kTimer = kStop - 1;
  static constexpr int kEventsPerWait = 16;

  void watch(const OwnedDescriptor& file, std::uint64_t name) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = name;
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, file.get(), &event) != 0)
      throw std::runtime_error(fmt::format("the relay's event queue: {}", std::strerror(errno)));
  }

  // Takes the frames that arrived at an end. Returns false if its device is gone.
  bool receive(std::size_t end) {
    RelayEnd& from = *ends_[end];
    for (int i = 0; i < kFramesPerTurn; ++i) {
      const ssize_t size = ::read(from.tap.get(), frame_.data(), frame_.size());
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) break;
      if (size <= 0) return false;
      if (end < 2 && down_.load(std::memory_order_relaxed)) {  // only a line goes down, the first link
        ++from.refused;
        continue;
      }
      delays_.offer(end, monotonic_now_ns(), ConstBytes(frame_.data(), static_cast<std::size_t>(size)));
    }
    count_drops(end);
    return true;
  }

  // Returns false if a device is gone.
  bool send_due() {
    for (;;) {
      const TimeNs now = monotonic_now_ns();
      const auto due = delays_.due(now);
      if (!due) return true;
      RelayEnd& from = *ends_[due->direction];
      const RelayEnd& to = *ends_[due->direction ^ 1U];
      if (::write(to.tap.get(), due->frame->data(), due->frame->size()) < 0) {
        if (errno == EBADFD) return false;
        ++from.refused;
        count_drops(due->direction);
      } else {
        from.bytes.fetch_add(due->frame->size(), std::memory_order_relaxed);
        from.packets.fetch_add(1, std::memory_order_relaxed);
      }
      delays_.pop(now);
    }
  }

  void count_drops(std::size_t end) {
    ends_[end]->drops.store(delays_.drops(end) + ends_[end]->refused, std::memory_order_relaxed);
  }

  void set_timer() {
    const TimeNs due = delays_.due_ns().value_or(0);  // 0: never
    if (due == timer_ns_) return;
    timer_ns_ = due;
    const itimerspec at{{0, 0}, {due / kSecond, due % kSecond}};
    ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
  }

  std::vector<RelayedLink> links_;
  bool has_line_;
  std::vector<std::unique_ptr<RelayEnd>> ends_;
  mutable std::mutex working_;  // held while frames move; a report waits for it
  LinkDelays delays_;
  OwnedDescriptor stop_;
  OwnedDescriptor timer_;
  OwnedDescriptor events_;
  TimeNs timer_ns_ = 0;
  std::atomic<bool> down_{false};
  std::array<std::byte, kFrameBytesMax> frame_{};
  std::thread thread_;
};

Relay::Relay(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
Relay::~Relay() = default;
Relay::Relay(Relay&& other) noexcept = default;
Relay& Relay::operator=(Relay&& other) noexcept = default;

Expected<Relay, std::string> Relay::open(const LabPlan& plan, const LabNetwork& network) {
  try {
    std::vector<RelayedLink> links = plan.relayed_links();
    std::vector<std::unique_ptr<Loop::RelayEnd>> ends;
    std::map<Space, std::shared_ptr<OwnedDescriptor>> devices;
    for (const RelayedLink& link : links) {
      for (const RelayedEnd& place : {link.from, link.to}) {
        Loop::RelayEnd& end = *ends.emplace_back(std::make_unique<Loop::RelayEnd>());
        end.device = place.device;
        std::shared_ptr<OwnedDescriptor>& file = devices[place.space];
        in_space(network.space(place.space), [&] {
          end.tap = open_tap(place.device);
          if (file) return;
          file = std::make_shared<OwnedDescriptor>(::open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC));
        });
        end.devices = file;
      }
    }
    return Relay(std::make_unique<Loop>(std::move(links), plan.line.has_value(), std::move(ends)));
  } catch (const std::exception& error) {
    return Unexpected<std::string>(error.what());
  }
}

void Relay::start() { loop_->start(); }
void Relay::run() { loop_->run(); }
void Relay::set_down(bool down) { loop_->set_down(down); }
std::array<PortCount, 2> Relay::line_counts() const { return loop_->line_counts(); }
RelayReport Relay::report() const { return loop_->report(); }

}  // namespace weir::lab
