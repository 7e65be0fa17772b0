#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace weir::bus {

// A connection of the hub: its socket, and its descriptor.
struct ConnectionKey {
  std::size_t socket = 0;
  int descriptor = -1;
  auto operator<=>(const ConnectionKey&) const = default;
};

struct HeldLimits {
  std::size_t connections_max = 0;
  std::uint64_t bytes_max = 0;        // of all connections
  std::uint64_t first_bytes_max = 0;  // of a connection that has sent no whole message yet
};

// Accounts for the bytes that ZeroMQ holds in memory for the hub's connections, and names the connections to
// end. ZeroMQ itself limits messages, not bytes, and parts of unfinished messages not at all. Inputs: the
// kernel's counts of bytes read from and written to each connection, and the hub's of messages. Bytes that
// frame messages are not counted; the errors that this makes end when a queue is empty. Pure.
class HeldBytes {
 public:
  explicit HeldBytes(HeldLimits limits) : limits_(limits) {}

  // Returns false if the connection is beyond the limit and must be ended.
  [[nodiscard]] bool opened(ConnectionKey key);
  // Its messages that the hub has not taken stay in memory, and count until the socket is empty.
  void closed(ConnectionKey key);

  // Bytes read from the connection since it began.
  void read(ConnectionKey key, std::uint64_t bytes);
  // A message, of this many bytes, has left ZeroMQ. Returns false if it is the connection's first one and
  // longer than first_bytes_max, or one of a connection that has ended: to read it may take many times its
  // bytes.
  bool taken(ConnectionKey key, std::uint64_t bytes);
  // No message was left when the connection had this many bytes read.
  void drained(ConnectionKey key, std::uint64_t bytes_read);
  // No message of any connection was left.
  void emptied(std::size_t socket) { left_behind_.erase(socket); }

  // A message of this many bytes was queued for the connection.
  void queued(ConnectionKey key, std::uint64_t bytes);
  // Bytes written to the connection since it began.
  void written(ConnectionKey key, std::uint64_t bytes);

  // Returns the connections to end: those beyond first_bytes_max, then the largest ones until the rest is
  // within bytes_max or consists of small ones. Each is returned once; its messages count until closed().
  [[nodiscard]] std::vector<ConnectionKey> excess();

  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  [[nodiscard]] std::vector<ConnectionKey> keys() const;

  // A connection that holds at most this share of first_bytes_max is never in excess.
  static constexpr std::uint64_t kSmallShare = 16;

 private:
  struct Connection {
    std::uint64_t read = 0;
    std::uint64_t taken = 0;  // of these bytes
    std::uint64_t queued = 0;
    std::uint64_t written = 0;  // of these bytes, and their frames
    bool has_sent = false;      // a whole message
    bool ends = false;
    [[nodiscard]] std::uint64_t incoming() const { return read > taken ? read - taken : 0; }
    [[nodiscard]] std::uint64_t held() const;
  };

  [[nodiscard]] Connection* find(ConnectionKey key);

  HeldLimits limits_;
  std::map<ConnectionKey, Connection> connections_;
  std::map<std::size_t, std::uint64_t> left_behind_;  // by socket, of closed connections
};

}  // namespace weir::bus
