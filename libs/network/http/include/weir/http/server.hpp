#pragma once

#include <weir/base/time.hpp>
#include <weir/http/message.hpp>
#include <weir/http/tls_files.hpp>
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

// Limits. At each one the connection gets an error response if possible, and is closed; each case is counted.
struct Limits {
  // Beyond: the connection that has been silent longest is closed, else idle, else busy (src/crowd.hpp). If
  // all are event streams: 503, refused_full.
  std::size_t connections_max = 256;
  std::size_t header_bytes_max = 16 * 1024;      // request line and headers; beyond: 431
  std::size_t body_bytes_max = 1024 * 1024;      // beyond: 413
  DurationNs request_timeout_ns = 10 * kSecond;  // from a request's first byte to its last
  DurationNs idle_timeout_ns = 60 * kSecond;     // between two requests of a connection, and before the first
  DurationNs send_timeout_ns = 30 * kSecond;     // for a response, or for a stream's queue, to be sent
  // Of all event streams. Beyond: the oldest of the address with the most is closed; a client of an address
  // with as many gets 503.
  std::size_t event_clients_max = 64;
  std::size_t event_queue_bytes_max = 1024 * 1024;  // unsent to one client; beyond, the client is dropped
  DurationNs event_idle_ns = 15 * kSecond;          // longest time without data on a stream
};

// Totals since the server began, except `connections` and `event_clients`, which are current.
struct ServerCounters {
  std::uint64_t connections = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused_full = 0;
  std::uint64_t made_room = 0;  // closed to make room for a new one
  std::uint64_t not_admitted = 0;
  std::uint64_t requests = 0;  // answered, with any status
  std::uint64_t malformed = 0;
  std::uint64_t too_large = 0;          // headers or body
  std::uint64_t handshakes_failed = 0;  // of TLS, or not ended in time
  std::uint64_t timeouts = 0;           // of requests and of responses; idle connections do not count
  std::uint64_t not_found = 0;
  std::uint64_t handler_failures = 0;  // a handler threw: 500
  std::uint64_t event_clients = 0;
  std::uint64_t event_clients_refused = 0;
  std::uint64_t event_clients_dropped = 0;  // too slow for the published events
  std::uint64_t events_sent = 0;            // to all clients together
  std::uint64_t events_dropped = 0;         // published faster than the server's thread accepts them
};

// Called on the server's thread, one at a time; must not block. An exception becomes status 500.
using Handler = std::function<HttpResponse(const HttpRequest&)>;

// Decides whether a request is accepted: returns nothing, or the response that refuses it. Called like a
// handler, before all handlers and streams. Must not throw.
using Admission = std::function<std::optional<HttpResponse>(const HttpRequest&)>;

// Returns one event of a stream in the protocol's form (HTML Living Standard, 9.2.6). `name` has no line end;
// `data` may have some.
[[nodiscard]] std::string event_text(std::string_view name, std::string_view data);

// The certificate in use.
struct TlsState {
  UtcNs ends_utc_ns = 0;  // 0: plain HTTP
  std::string problem;    // with newer files, which are not in use; empty: none
};

// A small HTTP/1.1 server with keep-alive, in its own thread; with `tls` it serves HTTPS only. GET serves
// HEAD as well.
class Server {
 public:
  // Listens. Throws std::runtime_error with address or file and reason if it cannot. `listen.port` 0: any
  // free one.
  explicit Server(const ports::Endpoint& listen, const Limits& limits = {}, const TlsFiles& tls = {});
  // Ends the thread and closes open connections.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Registers a handler. A path longer than "/" that ends in '/' also serves everything below it; the longest
  // match wins. Requires: called before start().
  void route(std::string method, std::string path, Handler handler);
  // Registers a stream of server-sent events at `path`. `greeting` returns the first data for a new client,
  // made of event_text()s; may be empty. Called on the server's thread. Requires: called before start().
  void stream(std::string path, std::function<std::string(const HttpRequest&)> greeting = {});

  // Sets the admission; without one, every request is accepted. Requires: called before start().
  void admit(Admission admission);
  void start();

  // Returns the address at which it listens, with the actual port.
  [[nodiscard]] const ports::Endpoint& endpoint() const;

  // Sends an event to every client of the stream at `path`. Never blocks. Thread-safe.
  void publish(const std::string& path, std::string_view name, std::string_view data);
  // Thread-safe.
  [[nodiscard]] ServerCounters counters() const;
  // As of the last connection. Thread-safe.
  [[nodiscard]] TlsState tls() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::http
