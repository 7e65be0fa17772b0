#pragma once

#include "node_link.hpp"
#include "plane_choice.hpp"
#include <weir/node/refusal_log.hpp>
#include <weir/ports/carriers.hpp>
#include <weir/reports/plane_moves.hpp>
#include <weir/sessions/connector.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::dcm {

struct PlaneLinkSettings {
  LinkSettings link;
  PlaneSettings choice;
  std::vector<std::string> names;  // of the planes
  DurationNs patience_ns;          // a connection that has been silent for this long is made anew
};

// The DCM's heartbeats: a connection to each readout in each plane, which carries nothing else, and the
// choice of the plane for the data. A connection in a plane that lacks its readout is made anew, because TCP
// may wait as long as the plane was down before it tries again.
class PlaneLinks final : public sessions::PeerHandler {
 public:
  // `carriers`: of this host's links to the planes; may be null.
  PlaneLinks(const PlaneLinkSettings& settings, std::unique_ptr<ports::Carriers> carriers,
             sessions::PeerCounters& counters);

  // Sets the addresses of a readout, one for each plane.
  void set_readout(NodeIndex index, const std::vector<ports::Endpoint>& ways);
  // Handles the connections. Call in each pass.
  void tick(ports::Network& network, TimeNs now_ns);
  // Data of this readout arrived, which is as good as a heartbeat of the present plane.
  void data_arrived(std::size_t readout) { choice_.heard(choice_.plane(), readout); }
  // A readout's data arrived for the first time since the last move, this long after its data before.
  void resumed(DurationNs gap_ns);
  // Call every few ms. Returns the move that is due, which holds from now on.
  [[nodiscard]] std::optional<PlaneChoice::Move> look(TimeNs now_ns, UtcNs utc_ns);

  [[nodiscard]] const PlaneChoice& choice() const { return choice_; }
  [[nodiscard]] DurationNs period_ns() const { return settings_.choice.period_ns; }
  void add_to(v1::Report& report) const;

 private:
  struct Link {
    std::unique_ptr<sessions::Connector> connector;
    std::uint64_t bytes = 0;  // received over the present connection, as of the last look
    TimeNs heard_ns = 0;
  };
  [[nodiscard]] Link& at(std::size_t plane, std::size_t readout) {
    return links_[plane * settings_.choice.readouts + readout];
  }
  void listen_to(std::uint32_t plane, std::size_t readout, TimeNs now_ns);
  void probe(std::uint32_t plane, std::size_t readout, TimeNs now_ns);
  [[nodiscard]] std::optional<PlaneChoice::Move> look_at_carriers(TimeNs now_ns);
  void note(const PlaneChoice::Move& move, UtcNs utc_ns);

  std::string check_hello(const sessions::PeerInfo& info) override;
  void on_ready(sessions::Peer& peer) override;
  void on_gone(sessions::Peer& peer, std::string_view why) override;

  PlaneLinkSettings settings_;
  std::unique_ptr<ports::Carriers> carriers_;
  sessions::PeerCounters& counters_;
  PlaneChoice choice_;
  std::vector<Link> links_;  // by plane, then by readout
  std::deque<reports::PlaneMove> moves_;
  node::RefusalLog refusals_;
  TimeNs now_ns_ = 0;
  TimeNs ticked_ns_ = 0;
  TimeNs beat_ns_ = 0;  // the next one
};

}  // namespace weir::dcm
