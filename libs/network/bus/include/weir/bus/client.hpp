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
  int queue_max = 1000;                     // messages waiting to be sent; more are dropped and counted
  std::size_t queue_bytes_max = 64U << 20;  // published bytes waiting; more are dropped and counted
  std::size_t message_bytes_max = 16U << 20;
};

struct ClientCounters {
  std::uint64_t sent = 0;
  std::uint64_t dropped_messages = 0;  // the bus was unreachable or slow
  std::uint64_t dropped_published = 0;
  std::uint64_t dropped_received = 0;  // the owner did not call take()
  std::uint64_t malformed = 0;
};

// One process' end of the bus. Its own thread talks to the hub and reconnects by itself; calls never block.
// Thread-safe.
class Client {
 public:
  // `wake` is called on the bus' thread when a message has arrived.
  Client(ClientSettings settings, std::function<void()> wake);
  ~Client();

  void send(const v1::BusMessage& message);
  // Drops the messages that are not sent yet: the end does not wait for them.
  void drop_unsent();
  // Sets the destination of published messages: a port of the hub's host, known from its Welcome.
  void publish_to(std::uint16_t port);
  enum class Haste : std::uint8_t {
    now,
    soon,  // within kSoon, together with others: each send costs some dozens of system calls along the way
  };
  static constexpr DurationNs kSoon = 100 * kMillisecond;
  // Returns false if the message was dropped, which is counted; before publish_to() all are. Messages keep
  // their order.
  bool publish(std::string_view tag, ConstBytes payload, Haste haste = Haste::now);
  // Returns the messages that have arrived, in order.
  [[nodiscard]] std::vector<v1::BusMessage> take();
  // Like take(), but waits for at most `limit`.
  [[nodiscard]] std::vector<v1::BusMessage> wait(DurationNs limit);
  [[nodiscard]] ClientCounters counters() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace weir::bus
