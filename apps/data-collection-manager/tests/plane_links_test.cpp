// A DCM with a readout in two planes, over connections in memory.
#include "../src/readout_links.hpp"
#include "../src/settings.hpp"
#include "building.hpp"
#include "memory_network.hpp"
#include "peer_identity.hpp"
#include "weir_catch.hpp"
#include <weir/node/setup.hpp>
#include <weir/reports/plane_moves.hpp>
#include <weir/sessions/listener.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace weir::dcm {
namespace {

constexpr DurationNs kStep = 10 * kMillisecond;
constexpr DurationNs kHeartbeats = 300 * kMillisecond;
constexpr DurationNs kHoldTime = 2 * kSecond;

// A readout's address in one plane.
class Address final : public sessions::PeerHandler {
 public:
  Address(test::MemoryNetwork& network, const TimeNs& now_ns)
      : network_(network), listener_(self_, *this, limits_, counters_, now_ns) {
    open();
  }
  void tick() { listener_.tick(); }
  // The plane is dead: the readout gets nothing, and no connection.
  void set_mute(bool mute) {
    for (sessions::Peer* peer : peers) peer->stream().pause_receiving(mute);
    if (mute) {
      listener_.close();
    } else {
      open();
    }
  }
  [[nodiscard]] sessions::Peer* data() const {
    const auto found = std::find_if(peers.begin(), peers.end(),
                                    [](const sessions::Peer* peer) { return !peer->info().heartbeats; });
    return found == peers.end() ? nullptr : *found;
  }

  ports::Endpoint at{"memory", 0};
  std::vector<sessions::Peer*> peers;
  std::size_t requests = 0;

 private:
  void open() {
    auto opened = listener_.open(network_, at);
    REQUIRE(opened.has_value());
    at = *opened;
  }
  void on_ready(sessions::Peer& peer) override { peers.push_back(&peer); }
  void on_gone(sessions::Peer& peer, std::string_view) override { std::erase(peers, &peer); }
  wire::PayloadPlace on_header(sessions::Peer& peer, const wire::FrameHeader&) override {
    CHECK(!peer.info().heartbeats);
    return {wire::PayloadPlace::Kind::whole, nullptr};
  }
  Expected<void, wire::WireError> on_frame(sessions::Peer&, const wire::FrameHeader& header,
                                           ConstBytes) override {
    if (header.type == wire::FrameType::request) ++requests;
    return {};
  }

  test::MemoryNetwork& network_;
  sessions::PeerInfo self_ = test::process(Role::readout, 0);
  sessions::PeerLimits limits_;
  sessions::PeerCounters counters_;
  sessions::SessionListener listener_;
};

struct Links final : ports::Carriers {
  std::vector<std::size_t> lost() override { return std::exchange(planes, {}); }
  std::vector<std::size_t> planes;
};

struct Planes : Building {
  Planes() {
    node::Setup setup;
    setup.identity = test::process(Role::dcm, 0);
    v1::NetworkSettings& network_keys = *setup.farm.mutable_network();
    for (const char* name : {"a", "b"}) network_keys.add_planes()->set_name(name);
    network_keys.set_heartbeat_ms(kHeartbeats / kMillisecond / 3);
    network_keys.set_heartbeat_misses(3);
    network_keys.set_plane_hold_ms(kHoldTime / kMillisecond);
    for (std::uint16_t i = 0; i < kReadouts; ++i) setup.plan.nodes.emplace_back().role = Role::readout;
    collector().readout_down(0);
    collector().readout_down(1);
    links.emplace(link_settings(setup), kReadouts, counters, clock, builder, nullptr, course);
    auto own = std::make_unique<Links>();
    carriers = own.get();
    links->use_planes(plane_settings(setup).value(), std::move(own));
    links->set_readout(NodeIndex(0), {a.at, b.at});
    course.begin();
    pass(100 * kMillisecond);
    REQUIRE(a.peers.size() == 2);
    REQUIRE(b.peers.size() == 1);
  }
  void pass(DurationNs for_ns) {
    for (const TimeNs end = now() + for_ns; now() < end;) {
      now() += kStep;
      links->tick(network, now());
      links->look();
      collector().pass(now());
      links->send_requests();
      network.run();
      a.tick();
      b.tick();
    }
  }
  assembly::BuiltSlice& ask(std::uint64_t id) {
    assembly::BuiltSlice& slice = open(id);
    collector().collect(slice, collector().everything());
    pass(2 * kStep);
    return slice;
  }
  [[nodiscard]] v1::Report report() const {
    v1::Report report;
    links->planes()->add_to(report);
    return report;
  }

  test::MemoryNetwork network;
  Address a{network, now()};
  Address b{network, now()};
  sessions::PeerCounters counters;
  RunPhases course;
  Links* carriers = nullptr;
  std::optional<ReadoutLinks> links;
};

}  // namespace

TEST_CASE("a dead plane is left: requests are repeated in the other one, and again after the return") {
  Planes dcm;
  (void)dcm.ask(1);
  CHECK(dcm.a.requests == 1);
  dcm.a.set_mute(true);
  (void)dcm.ask(2);
  CHECK(dcm.a.requests == 1);
  dcm.pass(kHeartbeats + 200 * kMillisecond);
  CHECK(dcm.links->planes()->choice().plane() == 1);
  CHECK(dcm.b.data() != nullptr);
  CHECK(dcm.b.requests >= 1);
  CHECK(reports::other_plane(dcm.report()) == "b instead of a");
  v1::Reach reach;
  dcm.links->add_lost_to(reach);
  CHECK(reach.readouts_size() == 1);  // the one that was never there

  const std::size_t before = dcm.b.requests;
  dcm.a.set_mute(false);
  dcm.pass(kHoldTime / 2);
  CHECK(dcm.b.data() != nullptr);
  (void)dcm.ask(3);
  CHECK(dcm.b.requests > before);
  dcm.pass(kHoldTime);
  CHECK(dcm.links->planes()->choice().is_home());
  CHECK(dcm.a.data() != nullptr);
  CHECK(dcm.b.data() == nullptr);
  CHECK(dcm.a.requests >= 2);
  CHECK(reports::other_plane(dcm.report()).empty());
  const auto moves = reports::plane_moves(dcm.report());
  REQUIRE(moves.size() == 2);
  CHECK(moves[0].lacking == 1);
  CHECK(moves[1].lacking == 0);
  CHECK(dcm.report().counters().at("dcm.plane_moves") == 2);
}

TEST_CASE("a link without carrier is left in the next look, and its requests are repeated") {
  Planes dcm;
  (void)dcm.ask(1);
  dcm.a.set_mute(true);
  dcm.carriers->planes = {0};
  dcm.pass(6 * kStep);
  CHECK(dcm.links->planes()->choice().plane() == 1);
  CHECK(dcm.b.data() != nullptr);
  CHECK(dcm.b.requests >= 1);
}

TEST_CASE("a connection to the new plane without an answer is repeated within a heartbeat") {
  Planes dcm;
  dcm.carriers->planes = {0};
  dcm.network.hold_connections = true;
  dcm.pass(5 * kStep);
  CHECK(dcm.links->planes()->choice().plane() == 1);
  const std::size_t before = dcm.network.connects;
  dcm.pass(kHeartbeats / 3 + 2 * kStep);
  CHECK(dcm.network.connects == before + 1);
}

TEST_CASE("a readout that stops in both planes is reported, and the DCM stays") {
  Planes dcm;
  dcm.a.set_mute(true);
  dcm.b.set_mute(true);
  dcm.pass(3 * kSecond);
  CHECK(dcm.links->planes()->choice().is_home());
  v1::Reach reach;
  dcm.links->add_lost_to(reach);
  CHECK(reach.readouts_size() == 2);
}

TEST_CASE("a DCM that was stopped for long stays in its plane") {
  Planes dcm;
  for (int i = 0; i < 5; ++i) {
    dcm.now() += 10 * kSecond;
    dcm.pass(kHeartbeats);
  }
  CHECK(dcm.links->planes()->choice().moves() == 0);
}

}  // namespace weir::dcm
