#include "space.hpp"
#include <weir/clock/clock.hpp>
#include <weir/lab/delay_line.hpp>
#include <weir/lab/relay.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <thread>

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
    throw std::runtime_error(fmt::format("the line's end '{}': {}", device, std::strerror(errno)));
  }
  return tap;
}

}  // namespace

class Relay::Loop {
 public:
  Loop(const LongLine& line, OwnedDescriptor from, OwnedDescriptor to, OwnedDescriptor devices)
      : line_(line),
        stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        devices_(std::move(devices)),
        taps_{std::move(from), std::move(to)},
        ways_{Way(line), Way(line)} {}
  ~Loop() {
    // If no thread runs, the event may be shared with a process that runs the line.
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
    ::prctl(PR_SET_TIMERSLACK, 1);  // frames leave on time, not up to 50 us late
    std::array<pollfd, 3> files{
        {{taps_[0].get(), POLLIN, 0}, {taps_[1].get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    for (;;) {
      if (!turn(0) || !turn(1)) return;
      const timespec wait = next_wait();
      if (::ppoll(files.data(), files.size(), &wait, nullptr) < 0 && errno != EINTR) return;
      if (files[2].revents != 0) return;
    }
  }

  void set_down(bool down) { down_.store(down, std::memory_order_relaxed); }

  [[nodiscard]] std::array<PortCount, 2> counts() const {
    std::array<PortCount, 2> counts;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i].bytes = ways_[i].bytes.load(std::memory_order_relaxed);
      counts[i].packets = ways_[i].packets.load(std::memory_order_relaxed);
      counts[i].drops = ways_[i].drops.load(std::memory_order_relaxed) +
                        dropped_at(devices_.get(), i == 0 ? line_.from_device : line_.to_device);
    }
    return counts;
  }

 private:
  struct Way {
    explicit Way(const LongLine& line) : queue(line) {}
    DelayLine queue;
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> packets{0};
    std::atomic<std::uint64_t> drops{0};
    std::uint64_t refused = 0;  // by the device at the far end, or while the line was down
  };

  // Moves frames from device `from` to the other one. Returns false if a device is gone.
  bool turn(std::size_t from) {
    Way& way = ways_[from];
    for (int i = 0; i < kFramesPerTurn; ++i) {
      const ssize_t size = ::read(taps_[from].get(), frame_.data(), frame_.size());
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) break;
      if (size <= 0) return false;
      if (down_.load(std::memory_order_relaxed)) {
        ++way.refused;
        continue;
      }
      way.queue.offer(monotonic_now_ns(), ConstBytes(frame_.data(), static_cast<std::size_t>(size)));
    }
    for (int i = 0; i < 2 * kFramesPerTurn; ++i) {
      const auto* frame = way.queue.arrived(monotonic_now_ns());
      if (frame == nullptr) break;
      if (::write(taps_[1 - from].get(), frame->data(), frame->size()) < 0) {
        if (errno == EBADFD) return false;
        ++way.refused;
      } else {
        way.bytes.fetch_add(frame->size(), std::memory_order_relaxed);
        way.packets.fetch_add(1, std::memory_order_relaxed);
      }
      way.queue.pop();
    }
    way.drops.store(way.queue.drops() + way.refused, std::memory_order_relaxed);
    return true;
  }

  [[nodiscard]] timespec next_wait() const {
    TimeNs due = monotonic_now_ns() + kSecond;
    for (const Way& way : ways_) due = std::min(due, way.queue.due_ns().value_or(due));
    const DurationNs wait = std::max<DurationNs>(due - monotonic_now_ns(), 0);
    return {wait / kSecond, wait % kSecond};
  }

  LongLine line_;
  OwnedDescriptor stop_;
  OwnedDescriptor devices_;
  std::array<OwnedDescriptor, 2> taps_;
  std::array<Way, 2> ways_;
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
    OwnedDescriptor from;
    OwnedDescriptor to;
    OwnedDescriptor devices;
    in_space(network.space(kSwitches), [&] {
      from = open_tap(plan.line->from_device);
      to = open_tap(plan.line->to_device);
      devices = OwnedDescriptor(::open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC));
    });
    return Relay(std::make_unique<Loop>(*plan.line, std::move(from), std::move(to), std::move(devices)));
  } catch (const std::exception& error) {
    return Unexpected<std::string>(error.what());
  }
}

void Relay::start() { loop_->start(); }
void Relay::run() { loop_->run(); }
void Relay::set_down(bool down) { loop_->set_down(down); }
std::array<PortCount, 2> Relay::counts() const { return loop_->counts(); }

}  // namespace weir::lab
