#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>
#include <weir/packet_switch/packet_switch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>

namespace weir::packet_switch {
namespace {

constexpr int kEvents = 64;
constexpr int kFramesPerTurn = 64;  // of a port
constexpr int kTurns = 32;          // then the caller has its turn
constexpr std::uint64_t kTimer = UINT64_MAX;
constexpr DurationNs kLookEvery = kSecond;
constexpr DurationNs kTryAgain = 50 * kMicrosecond;  // an interface that does not announce room

using switching::FrameDrop;

}  // namespace

std::uint64_t SwitchCounts::received() const {
  std::uint64_t sum = 0;
  for (const auto& port : ports) sum += port.received;
  return sum;
}

std::uint64_t SwitchCounts::sent() const {
  std::uint64_t sum = 0;
  for (const auto& port : ports) sum += port.sent;
  return sum;
}

std::uint64_t SwitchCounts::dropped(FrameDrop reason) const {
  std::uint64_t sum = 0;
  for (const auto& port : ports) sum += port.dropped[static_cast<std::size_t>(reason)];
  return sum;
}

std::uint64_t SwitchCounts::dropped() const {
  std::uint64_t sum = 0;
  for (std::size_t reason = 0; reason < switching::kFrameDrops; ++reason)
    sum += dropped(static_cast<FrameDrop>(reason));
  return sum;
}

std::uint64_t SwitchCounts::marked() const {
  std::uint64_t sum = 0;
  for (const auto& ring : rings) sum += ring.marked;
  return sum;
}

PacketSwitch::PacketSwitch(const PacketSwitchSettings& settings)
    : machine_(settings.machine),
      busy_poll_ns_(settings.busy_poll_ns),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  WEIR_ASSERT(settings.interfaces.size() == settings.machine.ports.size());
  const auto add = [&](int file, std::uint64_t name) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = name;
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, file, &event) != 0)
      throw std::runtime_error(fmt::format("the switch's event queue: {}", std::strerror(errno)));
  };
  add(timer_.get(), kTimer);
  for (const PortInterface& interface : settings.interfaces) {
    Port port;
    port.interface = open_port(interface);
    port.watched = EPOLLIN;
    add(port.interface->file(), ports_.size());
    ports_.push_back(std::move(port));
  }
}

void PacketSwitch::wait_for_events() {
  std::array<epoll_event, kEvents> events{};
  const int count = ::epoll_wait(events_.get(), events.data(), kEvents, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == kTimer) {
      timer_ns_ = 0;
      std::uint64_t expired = 0;
      (void)::read(timer_.get(), &expired, sizeof expired);
      continue;
    }
    Port& port = ports_[event.data.u64];
    if ((event.events & EPOLLIN) != 0) port.readable = true;
    if ((event.events & EPOLLOUT) != 0) port.full = false;
    // A link that is down, too: then the interface refuses frames, and may take some later.
    if ((event.events & EPOLLERR) != 0) next_look_ns_ = 0;
  }
}

// A packet socket reports an interface that is removed once, when its link goes down, and it may exist then;
// others do not. Frames that wait for a link are sent soon after it is back.
void PacketSwitch::look_at_interfaces() {
  const TimeNs now_ns = monotonic_now_ns();
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kLookEvery;
  for (Port& port : ports_) {
    gone_ |= !port.interface->exists();
    port.full |= port.interface->send({}).full;
  }
}

bool PacketSwitch::run() {
  wait_for_events();
  look_at_interfaces();
  for (Port& port : ports_) {
    if (port.full && !port.interface->announces_room()) port.full = port.interface->send({}).full;
  }
  bool moved = true;
  for (int turn = 0; moved && turn < kTurns; ++turn) {
    moved = false;
    for (std::size_t port = 0; port < ports_.size(); ++port) moved |= receive(port);
    const TimeNs now_ns = monotonic_now_ns();
    machine_.run(now_ns);
    for (std::size_t port = 0; port < ports_.size(); ++port) moved |= transmit(port, now_ns);
    if (!moved) moved = poll_ports();
  }
  for (std::size_t port = 0; port < ports_.size(); ++port) watch(port);
  set_timer(next_ns(moved));
  return !gone_;
}

std::optional<TimeNs> PacketSwitch::next_ns(bool moved) const {
  if (moved) return monotonic_now_ns();
  const auto tries_again = [](const Port& port) { return port.full && !port.interface->announces_room(); };
  if (std::ranges::none_of(ports_, tries_again)) return machine_.due_ns();
  return std::min(machine_.due_ns().value_or(INT64_MAX), monotonic_now_ns() + kTryAgain);
}

// Waits for a frame or for the machine, without the system calls and the wake-up of a sleep. A full interface
// and held frames need the events.
bool PacketSwitch::poll_ports() {
  if (busy_poll_ns_ == 0) return false;
  const TimeNs end_ns = monotonic_now_ns() + busy_poll_ns_;
  for (std::size_t port = 0; port < ports_.size(); ++port) {
    if (ports_[port].full || !machine_.takes(port)) return false;
  }
  for (TimeNs now_ns = 0; now_ns < end_ns; now_ns = monotonic_now_ns()) {
    if (machine_.due_ns().value_or(INT64_MAX) <= now_ns) return true;
    bool found = false;
    for (Port& port : ports_) found |= port.readable = port.interface->has_frame();
    if (found) return true;
  }
  return false;
}

bool PacketSwitch::receive(std::size_t index) {
  Port& port = ports_[index];
  if (!port.readable) return false;
  const TimeNs now_ns = monotonic_now_ns();
  for (int i = 0; i < kFramesPerTurn; ++i) {
    if (!machine_.takes(index)) return i > 0;
    const auto frame = port.interface->receive();
    if (!frame) {
      port.readable = false;
      return i > 0;
    }
    take(index, now_ns, *frame);
  }
  return true;
}

void PacketSwitch::take(std::size_t index, TimeNs now_ns, const FramePort::Received& frame) {
  if (frame.unfit) {
    machine_.refuse(index, *frame.unfit, frame.bytes.size());
  } else {
    machine_.receive(index, now_ns, frame.bytes);
  }
}

void PacketSwitch::take_rest() {
  const TimeNs now_ns = monotonic_now_ns();
  for (std::size_t index = 0; index < ports_.size(); ++index) {
    FramePort& interface = *ports_[index].interface;
    for (std::size_t i = 0; i < interface.receive_frames(); ++i) {
      const auto frame = interface.receive();
      if (!frame) break;
      take(index, now_ns, *frame);
    }
  }
}

bool PacketSwitch::transmit(std::size_t index, TimeNs now_ns) {
  Port& port = ports_[index];
  if (port.full) return false;
  std::array<ConstBytes, kFramesPerTurn> frames;
  const std::size_t count = machine_.transmit(index, now_ns, frames);
  if (count == 0) return false;
  const FramePort::Sent sent = port.interface->send(std::span(frames).first(count));
  WEIR_ASSERT(sent.frames + sent.refused <= count);
  machine_.sent(index, sent.frames);
  for (std::size_t i = 0; i < sent.refused; ++i) machine_.refused(index);
  port.full = sent.full;
  return sent.frames + sent.refused > 0;
}

void PacketSwitch::watch(std::size_t index) {
  Port& port = ports_[index];
  const bool waits = port.full && port.interface->announces_room();
  const std::uint32_t wanted = (machine_.takes(index) ? EPOLLIN : 0U) | (waits ? EPOLLOUT : 0U);
  if (std::exchange(port.watched, wanted) == wanted) return;
  epoll_event event{};
  event.events = wanted;
  event.data.u64 = index;
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_MOD, port.interface->file(), &event);
}

void PacketSwitch::set_timer(std::optional<TimeNs> at_ns) {
  const TimeNs due_ns = at_ns.value_or(0);  // 0: never
  if (std::exchange(timer_ns_, due_ns) == due_ns) return;
  const itimerspec at{{0, 0}, {due_ns / kSecond, due_ns % kSecond}};
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
}

SwitchCounts PacketSwitch::counts() {
  SwitchCounts counts;
  const TimeNs now_ns = monotonic_now_ns();
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const InterfaceCounts outside = ports_[i].interface->counts();
    switching::SwitchPortCounters& own = counts.ports.emplace_back(machine_.port(i, now_ns));
    own.received += outside.receive_full + outside.too_long;
    own.dropped[static_cast<std::size_t>(FrameDrop::receive_full)] += outside.receive_full;
    own.dropped[static_cast<std::size_t>(FrameDrop::too_long)] += outside.too_long;
    own.dropped[static_cast<std::size_t>(FrameDrop::refused)] += outside.lost;
    own.sent -= std::min(own.sent, outside.lost + outside.waiting);
    own.waiting += outside.waiting;
    counts.held += outside.waiting;
  }
  if (machine_.settings().queueing == switching::Queueing::rings) {
    for (std::size_t i = 0; i < machine_.settings().rings.size(); ++i)
      counts.rings.push_back(machine_.ring(i));
  }
  counts.held += machine_.held();
  return counts;
}

}  // namespace weir::packet_switch
