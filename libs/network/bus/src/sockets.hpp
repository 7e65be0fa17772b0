#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/time.hpp>
#include <weir/security/keys.hpp>
#include <weir/v1/bus.pb.h>

#include <zmq.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace weir::bus {

// The domain of sockets that need admission; sockets without it are not checked.
inline constexpr const char* kZapDomain = "weir";

void set_limits(zmq::socket_t& socket, int queue_max, std::size_t message_bytes_max);
// Sets the keys of the hub's end, or of a client's end.
void set_server_keys(zmq::socket_t& socket, const std::optional<security::CurveKeys>& keys);
void set_client_keys(zmq::socket_t& socket, const std::optional<security::CurveKeys>& keys);

// Binds the socket and returns its port. Throws std::runtime_error with a reason.
std::uint16_t bind_at(zmq::socket_t& socket, const std::string& host, std::uint16_t port);
[[nodiscard]] std::string address(const std::string& host, std::uint16_t port);

[[nodiscard]] zmq::message_t to_message(const v1::BusMessage& message);
[[nodiscard]] std::optional<v1::BusMessage> from_message(const zmq::message_t& message);
// A published message in one part: tag, a zero byte, payload.
struct TagAndPayload {
  std::string_view tag;
  ConstBytes payload;
};
[[nodiscard]] zmq::message_t join(std::string_view tag, ConstBytes payload);
[[nodiscard]] std::optional<TagAndPayload> split(const zmq::message_t& message);
[[nodiscard]] ConstBytes bytes_of(const zmq::message_t& message);
[[nodiscard]] std::chrono::milliseconds milliseconds(DurationNs wait);

}  // namespace weir::bus
