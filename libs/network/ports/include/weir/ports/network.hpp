#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace weir::ports {

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;  // 0 when listening: any free port
  bool operator==(const Endpoint&) const = default;
};

enum class CloseReason : std::uint8_t {
  peer_closed,     // orderly end
  reset,           // the connection broke
  refused,         // no listener there, or the host is unreachable
  protocol_error,  // this side rejected received bytes
  local,           // this side closed it
  not_trusted,     // TLS failed: the peer has no TLS, or not the key
};

// Where the next received bytes go, in order. The second span may be empty.
using ReceiveSpace = std::array<Bytes, 2>;

// Receives the events of one connection. Called on the loop's thread, never from inside a call of Stream.
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;
  virtual void on_connected() {}
  // Returns where to put received bytes; called before each receive. Requires: at least one byte of room.
  [[nodiscard]] virtual ReceiveSpace receive_space() = 0;
  // `bytes` were received into that space. Returns false if the peer broke the protocol and the stream has to
  // be closed.
  [[nodiscard]] virtual bool on_received(std::size_t bytes) = 0;
  // All appended bytes have been passed to the network.
  virtual void on_drained() {}
  // The last call for this stream. Not called after Stream::close().
  virtual void on_closed(CloseReason reason) = 0;
};

struct StreamCounters {
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t receive_calls = 0;
  std::uint64_t send_calls = 0;
  std::uint64_t wait_calls = 0;  // for readiness: one to arm a stream, and one per poll of all streams
  std::uint64_t retransmits = 0;

  // Returns the difference to an earlier reading.
  StreamCounters operator-(const StreamCounters& earlier) const {
    return {bytes_received - earlier.bytes_received, bytes_sent - earlier.bytes_sent,
            receive_calls - earlier.receive_calls,   send_calls - earlier.send_calls,
            wait_calls - earlier.wait_calls,         retransmits - earlier.retransmits};
  }
};

// One byte stream to a peer. Appended bytes are sent at the end of the loop's pass, as many per call as the
// transport can take, in order. Bytes appended before the connection is established are sent afterwards. The
// queue of unsent bytes has no limit of its own: the caller checks unsent_bytes() and holds back.
class Stream {
 public:
  virtual ~Stream() = default;  // closes
  // Returns room for `size` bytes, to be written before the next call of this stream; they are sent as if
  // appended.
  [[nodiscard]] virtual Bytes reserve(std::size_t size) = 0;
  // Copies the bytes.
  virtual void append(ConstBytes bytes) = 0;
  // Refers to the bytes: `owner` keeps them alive until they are sent; empty: they outlive the stream.
  virtual void append_reference(ConstBytes bytes, std::shared_ptr<const void> owner) = 0;
  [[nodiscard]] virtual std::size_t unsent_bytes() const = 0;
  // Pauses receiving, or resumes it: back-pressure through TCP itself.
  virtual void pause_receiving(bool paused) = 0;
  virtual void close() = 0;
  // Makes the kernel record when bytes arrive, from now on.
  virtual void note_arrivals() {}
  // Returns when the last of the bytes received last reached this host; 0: unknown.
  [[nodiscard]] virtual UtcNs arrived_utc_ns() const { return 0; }
  // Returns the segments that this host has retransmitted since the connection began. A system call.
  [[nodiscard]] virtual std::uint64_t retransmitted() const { return 0; }
  // Returns whether TCP acknowledges selectively here and at the peer; true if unknown. Without, few losses
  // are repaired before TCP's timeout. Requires: connected. A system call.
  [[nodiscard]] virtual bool selective_acks() const { return true; }
  [[nodiscard]] virtual StreamCounters counters() const = 0;  // a system call
  [[nodiscard]] virtual std::uint64_t bytes_received() const { return counters().bytes_received; }
  [[nodiscard]] virtual std::string peer() const = 0;  // "host:port", for messages to people
};

class Acceptor {
 public:
  virtual ~Acceptor() = default;
  // A peer connected. Returns the handler of the new stream, or null to refuse it. Requires: the handler
  // outlives the stream.
  virtual StreamHandler* on_accept(std::unique_ptr<Stream> stream) = 0;
};

// A listening socket; destroying it stops listening.
class Listener {
 public:
  virtual ~Listener() = default;
  [[nodiscard]] virtual Endpoint endpoint() const = 0;  // with the actual port
};

class Network {
 public:
  virtual ~Network() = default;
  // The error is a sentence: "127.0.0.1:7000: address already in use".
  [[nodiscard]] virtual Expected<std::unique_ptr<Listener>, std::string> listen(const Endpoint& at,
                                                                                Acceptor& acceptor) = 0;
  // Never fails at once: on_connected or on_closed follows.
  [[nodiscard]] virtual std::unique_ptr<Stream> connect(const Endpoint& to, StreamHandler& handler) = 0;
};

}  // namespace weir::ports
