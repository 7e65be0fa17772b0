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

// A listening socket at a free port of the loopback, to be in somebody's way.
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

// A plain TCP connection to a port of the loopback: sends whatever the test likes, blocks with an end.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port);
  ~RawClient();
  RawClient(RawClient&& other) noexcept;
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // False when the other side has closed.
  bool send(ConstBytes bytes) const;
  // At least one byte, or nothing: closed by the other side, or time is over.
  [[nodiscard]] std::vector<std::byte> receive(Seconds patience) const;
  // Reads and forgets until the other side closes; false when it does not in time.
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

  // Says hello; `farm` and `run` are those of the farm that is spoken to. With an authenticator it waits for
  // the other side's hello, too, and says its proof.
  WireClient(std::uint16_t port, v1::Role role, const std::string& name, const std::string& farm,
             std::uint32_t run = 1, std::uint32_t version = wire::kVersion,
             const ports::Authenticator* authenticator = nullptr);

  void send(const v1::Control& message) const;
  [[nodiscard]] std::optional<Frame> receive(Seconds patience);
  // The next control message; other frames are passed over.
  [[nodiscard]] std::optional<v1::Control> receive_control(Seconds patience);
  // The next refusal's reason; empty when none comes.
  [[nodiscard]] std::string receive_refusal(Seconds patience);
  [[nodiscard]] const RawClient& raw() const { return raw_; }
  // What it said until it was let in.
  [[nodiscard]] const std::vector<std::byte>& said() const { return said_; }

 private:
  RawClient raw_;
  std::vector<std::byte> said_;
  std::vector<std::byte> received_;
};

// Watches a run through its supervisor: what every node counts is known here, and nowhere else outside.
class FarmWatcher {
 public:
  FarmWatcher(std::uint16_t supervisor_port, const std::string& farm,
              const ports::Authenticator* authenticator = nullptr);
  // To be called when the run is over. Fails the test when the supervisor gave no account.
  [[nodiscard]] v1::RunSummary account();
  // Reads status messages until this counter of this node is so high.
  [[nodiscard]] bool wait_for_counter(const std::string& node, const std::string& counter,
                                      std::uint64_t at_least, Seconds patience);
  // ... until this node's state holds the text.
  [[nodiscard]] bool wait_for_state(const std::string& node, const std::string& text, Seconds patience);
  // The next report of this node. Fails the test when none comes.
  [[nodiscard]] v1::Report report_of(const std::string& node, Seconds patience);

 private:
  [[nodiscard]] bool wait_for_report(const std::string& node, Seconds patience,
                                     const std::function<bool(const v1::Report&)>& good);
  WireClient client_;
};

// The counter of this node in a summary; 0 when it is not there.
[[nodiscard]] std::uint64_t counter_of(const v1::RunSummary& account, const std::string& node,
                                       const std::string& counter);
// The sum of a node's counters that begin so.
[[nodiscard]] std::uint64_t counters_of(const v1::RunSummary& account, const std::string& node,
                                        const std::string& prefix);

}  // namespace weir::system_test
