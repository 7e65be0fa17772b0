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
  refused,         // nothing listens there, or the host is not reachable
  protocol_error,  // this side gave up on what it received
  local,           // this side closed it
  not_trusted,     // no TLS connection came about: the other side has no TLS, or not the key
};

// Where the next received bytes go, in order. The second span may be empty.
using ReceiveSpace = std::array<Bytes, 2>;

// What a node sees of one connection. All calls come from the loop's thread, never from inside a call of
// Stream.
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;
  virtual void on_connected() {}
  // Asked before each receive; at least one byte of room.
  [[nodiscard]] virtual ReceiveSpace receive_space() = 0;
  // `bytes` were put there. False: the peer broke the protocol and the stream is to be closed.
  [[nodiscard]] virtual bool on_received(std::size_t bytes) = 0;
  // Everything appended so far has been handed to the network.
  virtual void on_drained() {}
  // Last call for this stream. After Stream::close() it is not called.
  virtual void on_closed(CloseReason reason) = 0;
};

struct StreamCounters {
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t receive_calls = 0;
  std::uint64_t send_calls = 0;
  std::uint64_t wait_calls = 0;  // for readiness: one to arm a stream, one for each look at all of them
  std::uint64_t retransmits = 0;

  // What came since an earlier reading.
  StreamCounters operator-(const StreamCounters& earlier) const {
    return {bytes_received - earlier.bytes_received, bytes_sent - earlier.bytes_sent,
            receive_calls - earlier.receive_calls,   send_calls - earlier.send_calls,
            wait_calls - earlier.wait_calls,         retransmits - earlier.retransmits};
  }
};

// One byte stream to a peer. Appended bytes leave at the end of the loop's pass, as many in one call as the
// transport can take; order is kept. What was appended before the connection stands is sent when it does.
// The queue of unsent bytes has no limit of its own: the caller looks at unsent_bytes() and holds back.
class Stream {
 public:
  virtual ~Stream() = default;  // closes
  // Room for `size` bytes to be written before the next call of this stream; they are sent as if appended.
  [[nodiscard]] virtual Bytes reserve(std::size_t size) = 0;
  // Copies.
  virtual void append(ConstBytes bytes) = 0;
  // Refers: `owner` keeps the bytes alive until they have left; empty: they outlive the stream.
  virtual void append_reference(ConstBytes bytes, std::shared_ptr<const void> owner) = 0;
  [[nodiscard]] virtual std::size_t unsent_bytes() const = 0;
  // Stops asking for receive space until false again: back-pressure through TCP itself.
  virtual void pause_receiving(bool paused) = 0;
  virtual void close() = 0;
  // From now on the kernel notes when bytes arrive.
  virtual void note_arrivals() {}
  // When the last one of the bytes that were received last came to this host; 0: not known.
  [[nodiscard]] virtual UtcNs arrived_utc_ns() const { return 0; }
  // Segments that this host has sent once more, since the connection began. A system call.
  [[nodiscard]] virtual std::uint64_t retransmitted() const { return 0; }
  [[nodiscard]] virtual StreamCounters counters() const = 0;
  [[nodiscard]] virtual std::string peer() const = 0;  // "host:port", for messages to people
};

class Acceptor {
 public:
  virtual ~Acceptor() = default;
  // A peer connected. The handler of the new stream, or empty to refuse; it is kept by the acceptor's side
  // and must outlive the stream.
  virtual StreamHandler* on_accept(std::unique_ptr<Stream> stream) = 0;
};

// Something that listens; destroying it stops that.
class Listener {
 public:
  virtual ~Listener() = default;
  [[nodiscard]] virtual Endpoint endpoint() const = 0;  // with the real port
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
