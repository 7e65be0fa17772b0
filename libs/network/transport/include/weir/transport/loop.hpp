#pragma once

#include <weir/base/time.hpp>
#include <weir/ports/clock.hpp>
#include <weir/ports/network.hpp>
#include <weir/ports/readiness.hpp>
#include <weir/transport/source_address.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::transport {

// A secret that both ends of a TLS connection share (a TLS 1.3 pre-shared key), and its name on the wire.
struct TlsKey {
  std::string name;
  std::array<std::byte, 32> secret{};
};

// Options of every socket that the loop makes.
struct SocketPolicy {
  std::string congestion_control;  // empty: the system's
  bool no_delay = true;            //
  int send_buffer_bytes = 0;       // 0: the kernel tunes it
  int receive_buffer_bytes = 0;    // likewise
  // Empty: plain TCP. Otherwise every connection is TLS 1.3: this side connects with the first key, and
  // accepts any of them.
  std::vector<TlsKey> tls_keys = {};
  std::vector<SourceAddress> sources = {};  // of connections that this side makes
};

struct LoopCounters {
  std::uint64_t passes = 0;
  std::uint64_t accept_failures = 0;  // usually out of descriptors; retried
  std::uint64_t option_failures = 0;  // a socket option that the kernel refused
};

// TCP and time for one node: one thread, one reactor. After each batch of I/O the pass function is called;
// data that it and the handlers appended are sent in as few system calls as the kernel allows. Only wake()
// and stop() may be called from other threads. Requires: listeners and watches are destroyed before the loop.
// Streams that outlive it are closed.
class Loop final : public ports::Network, public ports::Clock, public ports::Readiness {
 public:
  // Throws std::runtime_error if there are keys for TLS and OpenSSL lacks a feature that they need.
  explicit Loop(SocketPolicy policy);
  ~Loop() override;

  // Runs until stop(): calls `pass` after I/O, on wake() and at least every `idle_wait_ns`. Throws
  // std::runtime_error if a reference to a mapped file cannot be sent because the file was truncated.
  void run(const std::function<void(TimeNs now_ns)>& pass, DurationNs idle_wait_ns);
  // Runs one such turn.
  void run_once(const std::function<void(TimeNs now_ns)>& pass, DurationNs wait_ns);
  void stop();
  void wake();
  // Requests one more pass at this time; a later call replaces it.
  void wake_at(TimeNs at_ns);
  void on_signals(std::initializer_list<int> signals, std::function<void(int)> handler);

  [[nodiscard]] Expected<std::unique_ptr<ports::Listener>, std::string> listen(
      const ports::Endpoint& at, ports::Acceptor& acceptor) override;
  [[nodiscard]] std::unique_ptr<ports::Stream> connect(const ports::Endpoint& to,
                                                       ports::StreamHandler& handler) override;
  [[nodiscard]] std::unique_ptr<ports::Watch> watch(int descriptor,
                                                    std::function<void()> on_readable) override;
  // Leaves out the time in which the process was paused: awake_now_ns().
  [[nodiscard]] TimeNs now_ns() const override;
  [[nodiscard]] UtcNs utc_ns() const override;

  // Returns the totals over all streams of the loop, closed ones included.
  [[nodiscard]] ports::StreamCounters stream_totals() const;
  [[nodiscard]] std::size_t unsent_bytes() const;  // of the open streams
  [[nodiscard]] LoopCounters counters() const;

  class Core;

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace weir::transport
