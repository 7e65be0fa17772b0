#include "plane_links.hpp"

#include <weir/base/assert.hpp>
#include <weir/reports/numbers.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace weir::dcm {
namespace {

constexpr DurationNs kConnectEvery = 5 * kMillisecond;

}  // namespace

PlaneLinks::PlaneLinks(const PlaneLinkSettings& settings, std::unique_ptr<ports::Carriers> carriers,
                       sessions::PeerCounters& counters)
    : settings_(settings),
      carriers_(std::move(carriers)),
      counters_(counters),
      choice_(settings.choice),
      links_(settings.choice.planes * settings.choice.readouts) {
  WEIR_ASSERT(settings.names.size() == settings.choice.planes);
  settings_.link.self.heartbeats = true;
  settings_.link.self.wants_timing = false;
}

void PlaneLinks::set_readout(NodeIndex index, const std::vector<ports::Endpoint>& ways) {
  for (std::size_t plane = 0; plane < ways.size() && plane < settings_.choice.planes; ++plane) {
    Link& link = at(plane, index.value);
    link_to(link.connector, Role::readout, index, ways[plane],
            {settings_.link.self, *this, settings_.link.limits, counters_, settings_.link.reconnect_ns,
             settings_.choice.period_ns});
    link.connector->tag = static_cast<std::uint64_t>(&link - links_.data());
  }
}

void PlaneLinks::tick(ports::Network& network, TimeNs now_ns) {
  now_ns_ = now_ns;
  if (now_ns - ticked_ns_ < kConnectEvery) return;
  ticked_ns_ = now_ns;
  for (Link& link : links_) {
    if (link.connector) link.connector->tick(network, now_ns);
  }
}

std::optional<PlaneChoice::Move> PlaneLinks::look(TimeNs now_ns, UtcNs utc_ns) {
  if (const auto move = look_at_carriers(now_ns)) {
    note(*move, utc_ns);
    return move;
  }
  if (now_ns < beat_ns_) return std::nullopt;  // a pass costs nothing per readout
  const PlaneSettings& settings = settings_.choice;
  for (std::uint32_t plane = 0; plane < settings.planes; ++plane) {
    for (std::size_t readout = 0; readout < settings.readouts; ++readout) listen_to(plane, readout, now_ns);
  }
  beat_ns_ = now_ns + settings.period_ns;
  const auto move = choice_.beat(now_ns);
  if (move) note(*move, utc_ns);
  for (std::uint32_t plane = 0; plane < settings.planes; ++plane) {
    for (std::size_t readout = 0; readout < settings.readouts; ++readout) probe(plane, readout, now_ns);
  }
  return move;
}

std::optional<PlaneChoice::Move> PlaneLinks::look_at_carriers(TimeNs now_ns) {
  if (!carriers_) return std::nullopt;
  const std::vector<std::size_t> lost = carriers_->lost();
  if (lost.empty()) return std::nullopt;
  for (const std::size_t plane : lost) spdlog::warn("carrier lost plane={}", settings_.names[plane]);
  return choice_.carriers_lost(lost, now_ns);
}

void PlaneLinks::listen_to(std::uint32_t plane, std::size_t readout, TimeNs now_ns) {
  Link& link = at(plane, readout);
  if (!link.connector || !link.connector->ready()) return;
  const std::uint64_t bytes = link.connector->peer().stream().bytes_received();
  if (std::exchange(link.bytes, bytes) == bytes) return;
  link.heard_ns = now_ns;
  choice_.heard(plane, readout);
}

void PlaneLinks::probe(std::uint32_t plane, std::size_t readout, TimeNs now_ns) {
  Link& link = at(plane, readout);
  if (!link.connector || !link.connector->ready()) return;
  if (choice_.lacks(plane, readout) || now_ns - link.heard_ns > settings_.patience_ns)
    return link.connector->peer().drop("no heartbeat");
  link.connector->peer().ask_if_alive();
}

void PlaneLinks::resumed(DurationNs gap_ns) {
  if (!moves_.empty()) moves_.back().gap_ns = std::max(moves_.back().gap_ns, gap_ns);
}

void PlaneLinks::note(const PlaneChoice::Move& move, UtcNs utc_ns) {
  const std::string& from = settings_.names[move.from];
  const std::string& to = settings_.names[move.to];
  if (move.lacking > 0) {
    spdlog::warn("plane left from={} to={} readouts_without_heartbeat={}", from, to, move.lacking);
  } else {
    spdlog::info("plane returned to from={} to={}", from, to);
  }
  moves_.push_back({utc_ns, from, to, move.lacking, 0});
  if (moves_.size() > reports::kPlaneMovesMax) moves_.pop_front();
}

void PlaneLinks::add_to(v1::Report& report) const {
  reports::ReportCounters counters(report);
  reports::Gauges gauges(report);
  counters["dcm.plane_moves"] = choice_.moves();
  gauges["dcm.plane"] = choice_.plane() + 1.0;
  reports::note_plane_moves(report, {moves_.begin(), moves_.end()});
  if (choice_.is_home()) return;
  reports::note_other_plane(
      report, settings_.names[choice_.plane()] + " instead of " + settings_.names[settings_.choice.home]);
}

std::string PlaneLinks::check_hello(const sessions::PeerInfo& info) {
  return refusal_unless(Role::readout, info);
}

void PlaneLinks::on_ready(sessions::Peer& peer) {
  WEIR_ASSERT(peer.tag < links_.size());
  links_[peer.tag].bytes = 0;
  links_[peer.tag].heard_ns = now_ns_;
}

void PlaneLinks::on_gone(sessions::Peer& peer, std::string_view why) {
  if (!peer.was_ready() && peer.was_refused()) refusals_.note(peer, why, now_ns_);
}

}  // namespace weir::dcm
