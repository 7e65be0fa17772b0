#include "memory_network.hpp"
#include "peer_identity.hpp"
#include "recording_side.hpp"
#include "weir_catch.hpp"
#include <weir/node/supervisor_client.hpp>
#include <weir/sessions/listener.hpp>

namespace weir::node {
namespace {

using test::process;

struct NoEvents final : SupervisorEvents {
  void on_supervisor_ready() override { ++ready; }
  void on_begin_run(const v1::BeginRun&) override {}
  Expected<void, wire::WireError> on_supervisor_message(const v1::Control&) override { return {}; }
  void on_end_run() override {}
  [[nodiscard]] bool run_ended() const override { return false; }
  v1::Report make_report(bool) override { return {}; }
  int ready = 0;
};

// A DCM's client, and a process of some role at the supervisor's address.
struct Met {
  explicit Met(Role role) : there(process(role, 0)) {
    const auto at = listener.open(network, {"memory", 0});
    REQUIRE(at.has_value());
    SupervisorClient client(self, limits, counters, *at, kSecond, kSecond, events, nullptr);
    for (int pass = 0; pass < 3; ++pass) {
      client.tick(network, now);
      network.run();
      listener.tick();
      now += kMillisecond;
    }
    connected = client.ready();
    error = client.last_error();
  }

  test::MemoryNetwork network;
  sessions::PeerInfo self = process(Role::dcm, 0);
  sessions::PeerInfo there;
  sessions::PeerLimits limits;
  sessions::PeerCounters counters;
  test::RecordingSide side;
  NoEvents events;
  TimeNs now = kSecond;
  sessions::SessionListener listener{there, side, limits, counters, now};
  bool connected = false;
  std::string error;
};

}  // namespace

TEST_CASE("a node connects to its supervisor, and refuses any other process at that address") {
  const Met supervisor(Role::supervisor);
  CHECK(supervisor.connected);
  CHECK(supervisor.events.ready == 1);
  for (const Role role : {Role::readout, Role::dcm, Role::writer}) {
    const Met other(role);
    const std::string met = std::string(name(role)) + "-0";
    CAPTURE(met);
    CHECK_FALSE(other.connected);
    CHECK(other.events.ready == 0);
    CHECK(other.error == "'" + met + "' is met where 'dcm-0' looks for the supervisor");
  }
}

}  // namespace weir::node
