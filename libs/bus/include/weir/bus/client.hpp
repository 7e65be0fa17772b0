#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/time.hpp>
#include <weir/security/keys.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::v1 {
class BusMessage;
}

namespace weir::bus {

struct ClientSettings {
  std::string host;
  std::uint16_t port = 0;
  std::optional<security::CurveKeys> keys;
  int queue_max = 1000;                     // messages that wait to be sent; beyond: dropped, counted
  std::size_t queue_bytes_max = 64U << 20;  // published bytes that wait; likewise
  std::size_t message_bytes_max = 16U << 20;
};

struct ClientCounters {
  std::uint64_t sent = 0;
  std::uint64_t dropped_messages = 0;  // the bus was away, or slow
  std::uint64_t dropped_published = 0;
  std::uint64_t dropped_received = 0;  // the owner takes nothing
  std::uint64_t malformed = 0;
};

// One process' end of the bus: a thread of its own talks to the hub, connects again by itself, and never
// makes its owner wait. Any thread may call.
class Client {
 public:
  // `wake` is called on the bus' thread when something has arrived.
  Client(ClientSettings settings, std::function<void()> wake);
  ~Client();

  void send(const v1::BusMessage& message);
  // Where published messages go: a port of the hub's host, known from its Welcome.
  void publish_to(std::uint16_t port);
  enum class Haste : std::uint8_t {
    now,
    soon,  // within kSoon, with others: each departure costs some dozens of system calls on its way
  };
  static constexpr DurationNs kSoon = 100 * kMillisecond;
  // False: dropped, counted. Before publish_to() everything is. The order is kept.
  bool publish(std::string_view tag, ConstBytes payload, Haste haste = Haste::now);
  // What has arrived, in order.
  [[nodiscard]] std::vector<v1::BusMessage> take();
  // The same, after at most so long.
  [[nodiscard]] std::vector<v1::BusMessage> wait(DurationNs limit);
  [[nodiscard]] ClientCounters counters() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace weir::bus
