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

struct HubSettings {
  std::string host = "127.0.0.1";  // address to listen on; "0.0.0.0" for all
  std::uint16_t port = 0;  // port of commands; 0: any. Publishing and subscribing have ports of their own
  std::uint16_t publish_port = 0;  // the next two: another one if it is taken; 0: any
  std::uint16_t subscribe_port = 0;
  // Called for each of the three ports; returns a socket that listens at this port elsewhere, for example in
  // another network. The hub serves it as well and closes it. May be empty.
  std::function<int(std::uint16_t port)> beside = {};
  std::optional<security::CurveKeys> keys;  // run control's; empty: every client may do anything
  std::vector<security::AllowedClient> clients;
  std::size_t message_bytes_max = 16U << 20;  // a longer message ends its connection
  int queue_max = 10'000;                     // messages to one client; more are dropped and counted
  // Limits of the memory that is held for clients: messages that the hub has not taken yet, parts of
  // unfinished ones, and answers that were not read. Beyond them connections end, the largest first.
  std::size_t connections_max = 4096;         // of all three ports; further ones end at once
  std::uint64_t held_bytes_max = 128U << 20;  // of all connections
  std::uint64_t first_bytes_max = 1U << 20;   // of a connection without a whole message, so without a key;
                                              // a longer command is read if HubHandler::sends_long()
  int published_queue_max = 1000;             // published messages to one subscriber, or from one publisher
};

// Bytes of a connection that the kernel may have received when it ends: they are still read.
constexpr std::size_t kUnreadBytesMax = 128U << 10;

// Returns the most bytes that the hub's process holds for all clients.
[[nodiscard]] constexpr std::uint64_t client_bytes_max(const HubSettings& settings) {
  return settings.held_bytes_max + settings.connections_max * kUnreadBytesMax;
}

// Returns the connections that the hub of a farm with so many processes accepts.
[[nodiscard]] constexpr std::size_t connections_of(std::size_t processes) {
  constexpr std::size_t kPerProcess = 4;  // two connections, and two while these are being lost
  constexpr std::size_t kOthers = 256;    // of operators and observers
  return kOthers + kPerProcess * processes;
}

struct HubCounters {
  std::uint64_t received = 0;
  std::uint64_t malformed = 0;          // not a BusMessage
  std::uint64_t not_allowed = 0;        // published without a node's key
  std::uint64_t too_long = 0;           // commands that were not read
  std::uint64_t dropped = 0;            // to clients that are gone or do not read
  std::uint64_t published = 0;          // forwarded
  std::uint64_t refused_key = 0;        // connections with a key that is not on the list
  std::string refused_from;             // address of the last of these; empty: unknown
  std::uint64_t ended = 0;              // connections beyond a limit of memory or number
  std::uint64_t refused_handshake = 0;  // without CURVE, with another server's key, or garbage
};

// The sender of a message, and the destination of its answer.
struct Sender {
  std::string id;
  std::string address;                                    // of the sender's host, as seen here; may be empty
  security::BusRole role = security::BusRole::operator_;  // without keys every client has this role
};

// Receives calls from inside poll().
class HubHandler {
 public:
  virtual ~HubHandler() = default;
  virtual void on_message(const Sender& from, const v1::BusMessage& message) = 0;
  // Returns whether this client's commands beyond HubSettings::first_bytes_max are read: a command may take
  // many times its bytes then.
  [[nodiscard]] virtual bool sends_long(const Sender&) const { return false; }
  // Receives published messages with the tags of observe().
  virtual void on_published(std::string_view tag, ConstBytes payload) = 0;
};

// The hub of the bus, in run control's process: commands with answers, and the dispatcher of published
// messages. A publisher does not know its subscribers; a subscriber names tags (like ANTARES' ControlHost).
// Used from one thread.
class Hub {
 public:
  // Throws std::runtime_error that names the endpoint.
  explicit Hub(HubSettings settings);
  ~Hub();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::uint16_t publish_port() const;
  [[nodiscard]] const HubSettings& settings() const;
  [[nodiscard]] std::uint16_t subscribe_port() const;

  // Waits at most this long for messages, and handles those that have arrived (up to a thousand).
  void poll(DurationNs wait, HubHandler& handler);
  // From now on poll() also stops waiting while this descriptor is readable. It stays open while the hub is
  // used.
  void wait_for(int descriptor);
  void send(const std::string& client, const v1::BusMessage& message);
  void publish(std::string_view tag, ConstBytes payload);
  // Passes published messages with this tag prefix to the handler.
  void observe(std::string_view tag);
  [[nodiscard]] HubCounters counters() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace weir::bus
