#pragma once

#include "process.hpp"
#include <weir/base/bytes.hpp>
#include <weir/ports/authenticator.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/frame.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::system_test {

// Occupies a free port of the loopback.
class TakenPort {
 public:
  TakenPort();
  ~TakenPort();
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  int socket_ = -1;
  std::uint16_t port_ = 0;
};

// A plain TCP connection to a loopback port: sends any bytes; reads block for a limited time.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port);
  ~RawClient();
  RawClient(RawClient&& other) noexcept;
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // False when the other side has closed.
  bool send(ConstBytes bytes) const;
  // Returns at least one byte; none if the peer closed or the time is over.
  [[nodiscard]] std::vector<std::byte> receive(Seconds patience) const;
  // Discards input until the peer closes. Returns false if that does not happen in time.
  [[nodiscard]] bool closed_by_peer(Seconds patience) const;

 private:
  int socket_ = -1;
};

// A client that speaks the protocol: hello first, control messages then.
class WireClient {
 public:
  struct Frame {
    wire::FrameHeader header;
    std::vector<std::byte> payload;
  };

  // Sends a hello for `farm` and `run`. With an authenticator, also waits for the peer's hello and sends a
  // proof.
  WireClient(std::uint16_t port, v1::Role role, const std::string& name, const std::string& farm,
             std::uint32_t run = 1, std::uint32_t version = wire::kVersion,
             const ports::Authenticator* authenticator = nullptr);

  void send(const v1::Control& message) const;
  [[nodiscard]] std::optional<Frame> receive(Seconds patience);
  // Returns the next control message and skips other frames.
  [[nodiscard]] std::optional<v1::Control> receive_control(Seconds patience);
  // Returns the reason of the next refusal; empty if none arrives.
  [[nodiscard]] std::string receive_refusal(Seconds patience);
  [[nodiscard]] const RawClient& raw() const { return raw_; }
  // The bytes that it sent until it was admitted.
  [[nodiscard]] const std::vector<std::byte>& said() const { return said_; }

 private:
  RawClient raw_;
  std::vector<std::byte> said_;
  std::vector<std::byte> received_;
};

// Watches a run through its supervisor, the only process that knows every node's counters.
class FarmWatcher {
 public:
  FarmWatcher(std::uint16_t supervisor_port, const std::string& farm,
              const ports::Authenticator* authenticator = nullptr);
  // Returns the run's account. Requires: the run is over. Fails the test if the supervisor sent none.
  [[nodiscard]] v1::RunSummary account();
  // Reads status messages until this counter of this node is so high.
  [[nodiscard]] bool wait_for_counter(const std::string& node, const std::string& counter,
                                      std::uint64_t at_least, Seconds patience);
  // ... until this node's state holds the text.
  [[nodiscard]] bool wait_for_state(const std::string& node, const std::string& text, Seconds patience);
  // Returns the node's next report. Fails the test if none arrives.
  [[nodiscard]] v1::Report report_of(const std::string& node, Seconds patience);

 private:
  [[nodiscard]] bool wait_for_report(const std::string& node, Seconds patience,
                                     const std::function<bool(const v1::Report&)>& good);
  WireClient client_;
};

// Returns the node's counter in a summary; 0 if it is absent.
[[nodiscard]] std::uint64_t counter_of(const v1::RunSummary& account, const std::string& node,
                                       const std::string& counter);
// The sum of a node's counters that begin so.
[[nodiscard]] std::uint64_t counters_of(const v1::RunSummary& account, const std::string& node,
                                        const std::string& prefix);

}  // namespace weir::system_test
