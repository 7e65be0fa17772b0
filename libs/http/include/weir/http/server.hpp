#pragma once

#include <weir/base/time.hpp>
#include <weir/http/message.hpp>
#include <weir/ports/network.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http {

// At each limit the connection is answered where that is possible, then closed; each is counted.
struct Limits {
  // Beyond: the one that has been silent for longest makes room, or idle, or busy (src/crowd.hpp); if all
  // listen to streams: 503, refused_full.
  std::size_t connections_max = 256;
  std::size_t header_bytes_max = 16 * 1024;      // request line and headers; beyond: 431
  std::size_t body_bytes_max = 1024 * 1024;      // beyond: 413
  DurationNs request_timeout_ns = 10 * kSecond;  // from a request's first byte to its last
  DurationNs idle_timeout_ns = 60 * kSecond;     // between two requests of a connection, and before the first
  DurationNs send_timeout_ns = 30 * kSecond;     // for a response, or for what a stream has queued, to leave
  // Of all event streams; beyond: the oldest of the address that has most makes room, or, for one that has as
  // many, 503.
  std::size_t event_clients_max = 64;
  std::size_t event_queue_bytes_max = 1024 * 1024;  // unsent to one client; beyond: the client is dropped
  DurationNs event_idle_ns = 15 * kSecond;          // a stream says at least this often that it lives
};

// Totals since the server began, but `connections` and `event_clients`, which are there now.
struct Counters {
  std::uint64_t connections = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused_full = 0;
  std::uint64_t made_room = 0;  // closed to make room for a new one
  std::uint64_t not_admitted = 0;
  std::uint64_t requests = 0;  // answered, whatever the status
  std::uint64_t malformed = 0;
  std::uint64_t too_large = 0;  // headers or body
  std::uint64_t timeouts = 0;   // of requests and of responses; idle connections do not count
  std::uint64_t not_found = 0;
  std::uint64_t handler_failures = 0;  // a handler threw: 500
  std::uint64_t event_clients = 0;
  std::uint64_t event_clients_refused = 0;
  std::uint64_t event_clients_dropped = 0;  // too slow for what was published
  std::uint64_t events_sent = 0;            // to all clients together
  std::uint64_t events_dropped = 0;         // published faster than the server's thread takes them
};

// Called on the server's thread, one at a time: it must not wait. What it throws becomes status 500.
using Handler = std::function<Response(const Request&)>;

// Whether a request is taken at all: nothing, or the answer that refuses it. Called like a handler, before
// all of them and before streams; it does not throw.
using Admission = std::function<std::optional<Response>(const Request&)>;

// One event of a stream as the protocol writes it (HTML Living Standard, 9.2.6): `name` has no line end,
// `data` may have some.
[[nodiscard]] std::string event_text(std::string_view name, std::string_view data);

// A small HTTP/1.1 server with keep-alive, in a thread of its own. Plain text: for a network that one trusts,
// or behind a proxy that does TLS. GET serves HEAD as well.
class Server {
 public:
  // Listens; throws std::runtime_error with where and why when it cannot. `listen.port` 0: any free one.
  explicit Server(const ports::Endpoint& listen, const Limits& limits = {});
  // Ends the thread; open connections are closed.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Before start(). A path that ends in '/' and is longer serves all that is below it, too; the longest match
  // counts.
  void route(std::string method, std::string path, Handler handler);
  // A stream of server-sent events at `path`, before start(). `greeting` gives what a new client is sent
  // first, events as event_text() makes them; may be empty. Called on the server's thread.
  void stream(std::string path, std::function<std::string(const Request&)> greeting = {});

  // Before start(). Without one, every request is answered.
  void admit(Admission admission);
  void start();

  // Where it listens, with the port that it got.
  [[nodiscard]] const ports::Endpoint& endpoint() const;

  // Any thread: an event for every client of the stream at `path`; never waits.
  void publish(const std::string& path, std::string_view name, std::string_view data);
  // Any thread.
  [[nodiscard]] Counters counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::http
