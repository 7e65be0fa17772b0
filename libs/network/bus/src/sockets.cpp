#include "sockets.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace weir::bus {
namespace {

// TCP's own keep-alive finds hosts that are gone. ZeroMQ's heartbeats are not used: with them a slow
// subscriber ends in an assertion (libzmq issue 3937, open in 4.3.5).
constexpr int kKeepAliveIdleS = 5;
constexpr int kKeepAliveIntervalS = 1;
constexpr int kKeepAliveCount = 5;
constexpr int kReconnectMs = 100;
constexpr int kReconnectMaxMs = 1000;
constexpr int kLingerMs = 500;
constexpr int kHandshakeMs = 5000;

}  // namespace

void set_limits(zmq::socket_t& socket, int queue_max, std::size_t message_bytes_max) {
  WEIR_ASSERT(queue_max > 0 && message_bytes_max > 0);  // ZeroMQ takes 0 for no limit
  socket.set(zmq::sockopt::sndhwm, queue_max);
  socket.set(zmq::sockopt::rcvhwm, queue_max);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(message_bytes_max));
  socket.set(zmq::sockopt::linger, kLingerMs);
  socket.set(zmq::sockopt::tcp_keepalive, 1);
  socket.set(zmq::sockopt::tcp_keepalive_idle, kKeepAliveIdleS);
  socket.set(zmq::sockopt::tcp_keepalive_intvl, kKeepAliveIntervalS);
  socket.set(zmq::sockopt::tcp_keepalive_cnt, kKeepAliveCount);
  socket.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
  socket.set(zmq::sockopt::reconnect_ivl_max, kReconnectMaxMs);
  socket.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
  socket.set(zmq::sockopt::ipv6, 1);
}

void set_server_keys(zmq::socket_t& socket, const std::optional<security::CurveKeys>& keys) {
  if (!keys) return;
  socket.set(zmq::sockopt::curve_server, 1);
  socket.set(zmq::sockopt::curve_secretkey, keys->secret_key);
  socket.set(zmq::sockopt::zap_domain, kZapDomain);
}

void set_client_keys(zmq::socket_t& socket, const std::optional<security::CurveKeys>& keys) {
  if (!keys) return;
  socket.set(zmq::sockopt::curve_serverkey, keys->server_public);
  socket.set(zmq::sockopt::curve_publickey, keys->public_key);
  socket.set(zmq::sockopt::curve_secretkey, keys->secret_key);
}

std::string address(const std::string& host, std::uint16_t port) {
  const bool six = host.find(':') != host.npos && !host.starts_with('[');
  return "tcp://" + (six ? "[" + host + "]" : host) + ":" + (port == 0 ? "*" : std::to_string(port));
}

std::uint16_t bind_at(zmq::socket_t& socket, const std::string& host, std::uint16_t port) {
  const std::string at = address(host, port);
  try {
    socket.bind(at);
  } catch (const zmq::error_t& error) {
    throw std::runtime_error("the bus cannot listen at " + at + ": " + error.what() +
                             (error.num() == EADDRINUSE ? ": does another run control use this port?" : ""));
  }
  const std::string bound = socket.get(zmq::sockopt::last_endpoint);
  WEIR_ASSERT(bound.rfind(':') != bound.npos);
  return static_cast<std::uint16_t>(std::stoul(bound.substr(bound.rfind(':') + 1)));
}

zmq::message_t to_message(const v1::BusMessage& message) {
  zmq::message_t made(message.ByteSizeLong());
  message.SerializeToArray(made.data(), static_cast<int>(made.size()));
  return made;
}

std::optional<v1::BusMessage> from_message(const zmq::message_t& message) {
  v1::BusMessage read;
  if (!read.ParseFromArray(message.data(), static_cast<int>(message.size()))) return std::nullopt;
  if (read.body_case() == v1::BusMessage::BODY_NOT_SET) return std::nullopt;
  return read;
}

zmq::message_t join(std::string_view tag, ConstBytes payload) {
  WEIR_ASSERT(tag.find('\0') == tag.npos);  // split() ends the tag there
  zmq::message_t made(tag.size() + 1 + payload.size());
  char* at = std::copy(tag.begin(), tag.end(), made.data<char>());
  *at++ = '\0';
  if (!payload.empty()) std::memcpy(at, payload.data(), payload.size());
  return made;
}

std::optional<TagAndPayload> split(const zmq::message_t& message) {
  const std::string_view text = message.to_string_view();
  const std::size_t end = text.find('\0');
  if (end == text.npos) return std::nullopt;
  return TagAndPayload{text.substr(0, end), bytes_of(message).subspan(end + 1)};
}

ConstBytes bytes_of(const zmq::message_t& message) {
  return {static_cast<const std::byte*>(message.data()), message.size()};
}

std::chrono::milliseconds milliseconds(DurationNs wait) {
  return std::chrono::milliseconds((wait + kMillisecond - 1) / kMillisecond);
}

}  // namespace weir::bus
