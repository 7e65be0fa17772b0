// Replays the recorded traffic of a farm with keys.
#include "controlled_farm.hpp"
#include "farm_run.hpp"
#include "needs_root.hpp"
#include "sniffer.hpp"
#include "weir_catch.hpp"
#include "wire_client.hpp"
#include <weir/security/farm_authenticator.hpp>

#include <boost/json.hpp>

#include <csignal>
#include <cstdlib>

namespace {

using namespace weir;
using namespace weir::system_test;

const std::vector<std::string> kListeners{"supervisor", "readout-0", "readout-1", "writer-0"};
const std::vector<std::string> kNodes{"supervisor", "writer-0", "readout-0", "dcm-0"};

}  // namespace

TEST_CASE("recorded messages between the farm's nodes are refused when they are sent again") {
  NEEDS_ROOT();
  const OwnLoopback loopback;
  const TemporaryFolder folder;
  const security::FarmKeys keys{{security::make_farm_key("now")}};
  const security::FarmAuthenticator authenticator(keys);
  const std::string key_file = folder / "farm.key";
  REQUIRE(security::write_new_file(key_file, security::to_text(keys), true) == "");
  Sniffer wire;
  FarmRun run(folder, config_file("event-building.yaml"),
              sets({"trigger.mode=rate", "trigger.rate_hz=500", "supervisor.status_interval_ms=100",
                    "readout.count=2", "security.key_file=" + key_file}));
  FarmWatcher watcher(run.port_of("supervisor"), "event-building", &authenticator);
  REQUIRE(run.wait_for_data(100'000));
  wire.stop();
  for (const std::string& listener : kListeners) {
    INFO(listener);
    const std::vector<std::byte> words = wire.said_to(run.port_of(listener));
    CHECK(words.size() > 150);  // hello and proof, at least
    const RawClient stranger(run.port_of(listener));
    (void)stranger.send(words);  // perhaps it is closed already
    CHECK(stranger.closed_by_peer(Seconds(10)));
  }
  const std::uint64_t data_before = run.data_bytes();
  REQUIRE(run.wait_for_data(data_before + 100'000));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count_all("discarded") == 0);
  const v1::RunSummary account = watcher.account();
  for (const std::string& listener : kListeners) {
    INFO(listener);
    CHECK(counter_of(account, listener, "peers.refused_auth") == 1);
    CHECK(counters_of(account, listener, "peers.protocol_errors.") == 0);
  }
}

TEST_CASE("replayed messages of the bus are rejected") {
  NEEDS_ROOT();
  const OwnLoopback loopback;
  const TemporaryFolder folder;
  const std::string keys = folder / "keys";
  REQUIRE(run_command(folder, "weir", {"keys", "new", keys}).status == 0);
  Sniffer wire;
  const ControlledFarm farm(folder, "trigger: {mode: rate, rate_hz: 1}\n", kNodes, ", keys: " + keys);
  farm.begin_run();
  wire.stop();
  const auto refused = [&] {
    const boost::json::value view = farm.status();
    const auto* count = view.at("counters").as_object().if_contains("bus.refused_handshake");
    return count == nullptr ? 0 : std::atoi(count->as_string().c_str());
  };
  const int before = refused();
  for (const int above : {0, 1}) {  // the ports for commands and for published messages
    const auto port = static_cast<std::uint16_t>(farm.port() + above);
    const std::vector<std::byte> words = wire.said_to(port);
    INFO("port " << above);
    CHECK(words.size() > 300);
    const RawClient stranger(port);
    (void)stranger.send(words);
    CHECK(stranger.closed_by_peer(Seconds(30)));
  }
  CHECK(wait_until([&] { return refused() >= before + 2; }, Seconds(20)));
  CHECK(farm.state() == "running");
  farm.stop_good();
  CHECK(farm.record(1).at("ledger_balanced").as_bool());
}
