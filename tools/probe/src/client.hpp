#pragma once

#include "addresses.hpp"
#include "datagram_reader.hpp"
#include "message_socket.hpp"
#include <weir/line_figures/datagrams.hpp>
#include <weir/line_figures/flood.hpp>
#include <weir/ports/authenticator.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::probe {

struct ProbeClientSettings {
  Address server;
  const ports::Authenticator* key = nullptr;  // null: none
  int receive_buffer_bytes = 0;               // 0: the kernel's
};

// Latencies of requests, in us, and when they were sent.
struct Series {
  std::vector<double> at_us;
  std::vector<double> latency_us;
  std::vector<WindowSample> window;
  std::uint32_t window_samples_left_out = 0;
};

struct SeriesSettings {
  std::uint32_t count = 0;
  std::uint32_t response_bytes = 0;
  DurationNs pause_ns = 0;
};

// The CPU time of a message, in us.
struct MessageTimes {
  double send_us = 0;
  double receive_us = 0;
};

// A session with one server. Throws PeerError. One thread.
class ProbeClient {
 public:
  explicit ProbeClient(const ProbeClientSettings& settings);

  [[nodiscard]] const Acceptance& welcome() const { return welcome_; }
  [[nodiscard]] const Address& server() const { return server_; }
  // Returns this host's address on the way to the server.
  [[nodiscard]] Address local() const { return address_of(datagrams_.get()); }
  // Returns the largest payload of a datagram that needs no fragments, by both hosts.
  [[nodiscard]] std::uint16_t full_payload() const;
  [[nodiscard]] double ip_header() const;

  // Returns the least round trip of this connection by the kernel, which answers itself; 0: unknown.
  [[nodiscard]] double least_round_trip_us() const;

  // Sends `count` echoes, one every `spacing_ns`. Returns those that were answered.
  [[nodiscard]] std::vector<line_figures::Echo> exchange_echoes(std::uint32_t count, DurationNs spacing_ns);
  void apply(const Settings& settings);
  [[nodiscard]] Series run_series(const SeriesSettings& settings);
  [[nodiscard]] MessageTimes time_messages(std::uint32_t bytes, std::uint32_t count);

 private:
  friend std::vector<line_figures::FloodPart> receive_streams(
      std::vector<std::unique_ptr<ProbeClient>>& clients, StreamRequest stream);
  [[nodiscard]] std::vector<WindowSample> stop_watching(std::uint32_t& left_out);

  Address server_;
  MessageSocket socket_;
  OwnedDescriptor datagrams_;
  DatagramReader reader_;
  Acceptance welcome_;
  std::uint32_t streams_ = 0;
  std::vector<std::byte> space_;
};

// Asks all servers for such a stream at the same time and receives it. Returns a part for each of them,
// without its least_transit_ns.
[[nodiscard]] std::vector<line_figures::FloodPart> receive_streams(
    std::vector<std::unique_ptr<ProbeClient>>& clients, StreamRequest stream);

}  // namespace weir::probe
