#pragma once

#include "scenario.hpp"
#include <weir/sessions/connector.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/simnet/random.hpp>
#include <weir/simnet/world.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weir::sim {

// Offers triggers with external ids, from a host without faults: repeats some ids and, after a lost
// connection, the unanswered ones.
class TriggerClient final : private sessions::PeerHandler {
 public:
  // Calls `fail` with a sentence if an id is taken twice.
  TriggerClient(simnet::World& world, const Scenario& scenario, const std::string& farm,
                const ports::Endpoint& supervisor, std::function<void(const std::string&)> fail);
  ~TriggerClient() override;

 private:
  void pass(TimeNs now_ns);
  [[nodiscard]] std::uint64_t next_id();
  void on_ready(sessions::Peer&) override {}
  void on_gone(sessions::Peer& peer, std::string_view why) override;
  Expected<void, wire::WireError> on_control(sessions::Peer& peer, const v1::Control& message) override;

  simnet::Host& host_;
  const Scenario& scenario_;
  std::function<void(const std::string&)> fail_;
  simnet::Random random_;
  sessions::PeerInfo self_;
  sessions::PeerLimits limits_;
  sessions::PeerCounters counters_;
  std::optional<sessions::Connector> link_;
  DurationNs every_ns_;
  TimeNs next_ns_ = 0;
  std::uint64_t made_ = 0;                // ids
  std::deque<std::uint64_t> unanswered_;  // over this connection, in the order of their offers
  std::deque<std::uint64_t> again_;       // to be offered over the next connection
  std::vector<std::uint64_t> taken_;
};

}  // namespace weir::sim
