#pragma once

#include "held_bytes.hpp"
#include "sockets.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>

namespace weir::bus {

// Watches the connections of a hub's three sockets in a thread of its own, and ends those that are too many
// or hold too much memory. All calls come from the hub's thread.
class ConnectionWatch {
 public:
  static constexpr std::size_t kSockets = 3;

  ConnectionWatch(zmq::context_t& context, HeldLimits limits)
      : context_(context), bytes_max_(limits.bytes_max), held_(limits) {}
  ~ConnectionWatch();
  ConnectionWatch(const ConnectionWatch&) = delete;
  ConnectionWatch& operator=(const ConnectionWatch&) = delete;

  // Requires: called for each socket before it is bound.
  void add(std::size_t place, zmq::socket_t& socket);
  // Requires: called once, after the sockets were bound to these ports.
  void start(const std::array<std::uint16_t, kSockets>& ports);

  // A message was taken from the socket. Returns whether it may be read, as HeldBytes::taken.
  bool taken(std::size_t place, const zmq::message_t& message);
  // The socket had no further message.
  void drained(std::size_t place);
  // A message for a connection was given to the socket.
  void queued(std::size_t place, int descriptor, std::size_t bytes);

  [[nodiscard]] std::uint64_t handshakes_failed() const { return handshakes_failed_; }
  [[nodiscard]] std::uint64_t ended() const { return ended_; }  // connections beyond a limit

 private:
  void run();
  void take_events(std::size_t place);
  void look();
  void end(ConnectionKey key);
  [[nodiscard]] bool is_ours(ConnectionKey key) const;

  zmq::context_t& context_;
  std::uint64_t bytes_max_;
  std::array<zmq::socket_t, kSockets> monitors_;  // belong to the thread once it runs
  std::array<std::uint16_t, kSockets> ports_{};
  std::array<std::set<int>, kSockets> senders_;  // since the socket was last empty
  std::atomic<bool> stops_{false};
  std::atomic<std::uint64_t> handshakes_failed_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::mutex mutex_;
  HeldBytes held_;  // guarded by mutex_
  std::thread thread_;
};

// Returns the descriptor of the connection that a message came from; -1: unknown.
[[nodiscard]] int descriptor_of(const zmq::message_t& message);

}  // namespace weir::bus
