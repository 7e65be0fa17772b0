#include "connection_watch.hpp"

#include <weir/base/assert.hpp>

#include <charconv>
#include <chrono>
#include <cstring>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace weir::bus {
namespace {

// The time in which a client can send beyond the limits. It grows with the connections, so that the cost does
// not.
constexpr std::chrono::milliseconds kLookEvery{25};
constexpr std::size_t kConnectionsPerLook = 200;
constexpr std::chrono::milliseconds kLookSoon{2};  // while clients hold more than usual
constexpr std::uint64_t kUsualShare = 16;          // of the bytes that all may hold
constexpr const char* kSourceDescriptor = "__fd";

struct Counts {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
};

Counts counts_of(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  int unread = 0;
  int unsent = 0;
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      ::ioctl(descriptor, SIOCINQ, &unread) != 0 || ::ioctl(descriptor, SIOCOUTQ, &unsent) != 0)
    return {};
  const auto waiting = static_cast<std::uint64_t>(unread);
  return {info.tcpi_bytes_received > waiting ? info.tcpi_bytes_received - waiting : 0,
          info.tcpi_bytes_acked + static_cast<std::uint64_t>(unsent)};
}

}  // namespace

int descriptor_of(const zmq::message_t& message) {
  const char* text = zmq_msg_gets(message.handle(), kSourceDescriptor);
  int descriptor = -1;
  if (text == nullptr) return descriptor;
  const std::string_view digits(text);
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), descriptor);
  return descriptor;
}

ConnectionWatch::~ConnectionWatch() {
  stops_ = true;
  if (thread_.joinable()) thread_.join();
}

void ConnectionWatch::add(std::size_t place, zmq::socket_t& socket) {
  WEIR_ASSERT(place < kSockets && !thread_.joinable());
  const std::string at = "inproc://monitor-" + std::to_string(place);
  constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                          ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
  zmq_socket_monitor(socket.handle(), at.c_str(), kEvents);
  monitors_[place] = zmq::socket_t(context_, zmq::socket_type::pair);
  // An event is some bytes long, and none may be lost.
  monitors_[place].set(zmq::sockopt::rcvhwm, 0);
  monitors_[place].connect(at);
}

void ConnectionWatch::start(const std::array<std::uint16_t, kSockets>& ports) {
  WEIR_ASSERT(!thread_.joinable());
  ports_ = ports;
  thread_ = std::thread([this] { run(); });
}

void ConnectionWatch::run() {
  std::array<zmq::pollitem_t, kSockets> items{};
  for (std::size_t i = 0; i < kSockets; ++i) items[i] = {monitors_[i].handle(), 0, ZMQ_POLLIN, 0};
  using Clock = std::chrono::steady_clock;
  Clock::time_point next = Clock::now();
  while (!stops_) {
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    try {
      zmq::poll(items.data(), items.size(), std::max(wait, std::chrono::milliseconds(0)));
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) return;
      continue;
    }
    for (std::size_t i = 0; i < kSockets; ++i) {
      if ((items[i].revents & ZMQ_POLLIN) != 0) take_events(i);
    }
    if (Clock::now() < next) continue;
    const std::lock_guard lock(mutex_);
    look();
    next = Clock::now() + kLookSoon;
    if (held_.bytes() < bytes_max_ / kUsualShare)
      next += kLookEvery * (1 + held_.connections() / kConnectionsPerLook);
  }
}

// An event has two frames: its number with a value, and the address.
void ConnectionWatch::take_events(std::size_t place) {
  zmq::message_t part;
  const std::lock_guard lock(mutex_);
  while (monitors_[place].recv(part, zmq::recv_flags::dontwait)) {
    std::uint16_t event = 0;
    std::uint32_t value = 0;
    if (!part.more() || part.size() < sizeof event + sizeof value) continue;
    std::memcpy(&event, part.data(), sizeof event);
    std::memcpy(&value, part.data<char>() + sizeof event, sizeof value);
    const ConnectionKey key{place, static_cast<int>(value)};
    if (event == ZMQ_EVENT_ACCEPTED) {
      if (!held_.opened(key)) end(key);
    } else if (event == ZMQ_EVENT_DISCONNECTED) {
      held_.closed(key);
    } else if (event != ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
      ++handshakes_failed_;
    }
  }
}

void ConnectionWatch::look() {
  for (const ConnectionKey key : held_.keys()) {
    const Counts counts = counts_of(key.descriptor);
    held_.read(key, counts.read);
    held_.written(key, counts.written);
  }
  for (const ConnectionKey key : held_.excess()) end(key);
}

void ConnectionWatch::end(ConnectionKey key) {
  ++ended_;
  if (is_ours(key)) (void)::shutdown(key.descriptor, SHUT_RDWR);
}

// ZeroMQ closes the descriptor, and another file may have it before the event is read.
bool ConnectionWatch::is_ours(ConnectionKey key) const {
  sockaddr_storage local{};
  socklen_t size = sizeof local;
  if (::getsockname(key.descriptor, reinterpret_cast<sockaddr*>(&local), &size) != 0) return false;
  in_port_t port = 0;
  if (local.ss_family == AF_INET) port = reinterpret_cast<const sockaddr_in&>(local).sin_port;
  if (local.ss_family == AF_INET6) port = reinterpret_cast<const sockaddr_in6&>(local).sin6_port;
  return port != 0 && ntohs(port) == ports_[key.socket];
}

bool ConnectionWatch::taken(std::size_t place, const zmq::message_t& message) {
  WEIR_ASSERT(place < kSockets);
  const int descriptor = descriptor_of(message);
  if (descriptor < 0) return true;
  senders_[place].insert(descriptor);
  const std::lock_guard lock(mutex_);
  return held_.taken({place, descriptor}, message.size());
}

void ConnectionWatch::drained(std::size_t place) {
  WEIR_ASSERT(place < kSockets);
  if (senders_[place].empty()) return;
  const std::lock_guard lock(mutex_);
  held_.emptied(place);
  for (const int descriptor : senders_[place]) held_.drained({place, descriptor}, counts_of(descriptor).read);
  senders_[place].clear();
}

void ConnectionWatch::queued(std::size_t place, int descriptor, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  held_.queued({place, descriptor}, bytes);
}

}  // namespace weir::bus
