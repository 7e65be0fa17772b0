#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include "wire_client.hpp"
#include <weir/security/farm_authenticator.hpp>

#include <algorithm>
#include <csignal>

// Tests of farms with a key, against peers without one.
namespace {

using namespace weir;
using namespace weir::system_test;

constexpr char kFarm[] = "event-building";
const std::vector<std::string> kListeners{"supervisor", "readout-0", "readout-1", "writer-0"};

struct Key {
  explicit Key(const TemporaryFolder& folder) : file(folder / "farm.key") {
    REQUIRE(security::write_new_file(file, security::to_text(keys), true) == "");
  }
  security::FarmKeys keys{{security::make_farm_key("now"), security::make_farm_key("before")}};
  security::FarmAuthenticator authenticator{keys};
  std::string file;
};

std::vector<std::string> steady(const Key& key) {
  return sets({"trigger.mode=rate", "trigger.rate_hz=500", "supervisor.status_interval_ms=100",
               "readout.count=2", "network.hello_timeout_ms=1000", "security.key_file=" + key.file});
}

v1::Role role_at(const std::string& listener) {
  return listener == "supervisor" ? v1::ROLE_CONTROL : v1::ROLE_DCM;
}

WireClient client_at(const FarmRun& run, const std::string& listener,
                     const ports::Authenticator* authenticator) {
  return {run.port_of(listener), role_at(listener), "dcm-0", kFarm, 1, wire::kVersion, authenticator};
}

FarmEnd stop(FarmRun& run) {
  run.process().send_signal(SIGINT);
  return run.finish();
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("without the farm's key no client gets in at any port, and the run is unharmed") {
  const TemporaryFolder folder;
  const Key key(folder);
  FarmRun run(folder, config_file("event-building.yaml"), steady(key));
  FarmWatcher watcher(run.port_of("supervisor"), kFarm, &key.authenticator);
  REQUIRE(run.wait_for_data(100'000));
  const security::FarmAuthenticator wrong({{security::make_farm_key("now")}});
  const security::FarmAuthenticator unknown({{security::make_farm_key("else")}});
  const security::FarmAuthenticator before({{key.keys.keys[1]}});
  constexpr std::uint64_t kRefusedEach = 4;
  for (const std::string& listener : kListeners) {
    INFO(listener);
    CHECK_THAT(client_at(run, listener, nullptr).receive_refusal(Seconds(10)),
               Catch::ContainsSubstring("needs the farm's key"));
    CHECK_THAT(client_at(run, listener, &wrong).receive_refusal(Seconds(10)),
               Catch::ContainsSubstring("its farm key 'now' is not that of"));
    CHECK_THAT(client_at(run, listener, &unknown).receive_refusal(Seconds(10)),
               Catch::ContainsSubstring("uses farm key 'else'"));
    // A peer that authenticates with an older key is admitted; its recorded proof is rejected.
    WireClient let_in = client_at(run, listener, &before);
    const auto answer = let_in.receive(Seconds(10));
    REQUIRE(answer.has_value());
    CHECK(answer->header.type == wire::FrameType::hello);
    RawClient again(run.port_of(listener));
    CHECK(again.send(let_in.said()));
    CHECK(again.closed_by_peer(Seconds(10)));
  }
  const std::uint64_t data_before = run.data_bytes();
  REQUIRE(run.wait_for_data(data_before + 100'000));
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count_all("discarded") == 0);
  CHECK(end.summary.count("stored") == end.summary.count("triggered"));
  const v1::RunSummary account = watcher.account();
  for (const std::string& listener : kListeners) {
    INFO(listener);
    CHECK(counter_of(account, listener, "peers.refused_auth") == kRefusedEach);
    CHECK(counter_of(account, listener, "peers.refused_hello") == 0);
    CHECK(counters_of(account, listener, "peers.protocol_errors.") == 0);
  }
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
}

TEST_CASE("a stranger that connects a thousand times is counted each time and fills no log") {
  constexpr std::uint64_t kKnocks = 1000;
  const TemporaryFolder folder;
  const Key key(folder);
  FarmRun run(folder, config_file("event-building.yaml"), steady(key));
  FarmWatcher watcher(run.port_of("supervisor"), kFarm, &key.authenticator);
  REQUIRE(run.wait_for_data(100'000));
  const std::vector<std::string> listeners{"readout-0", "writer-0"};
  for (std::uint64_t i = 0; i < kKnocks; ++i) {
    for (const std::string& listener : listeners) {
      const std::uint16_t port = run.port_of(listener);
      const WireClient stranger(port, v1::ROLE_DCM, "dcm-0", kFarm);
      if (i % 20 == 0) CHECK(stranger.raw().closed_by_peer(Seconds(10)));
    }
  }
  for (const std::string& listener : listeners)
    CHECK(watcher.wait_for_counter(listener, "peers.refused_auth", kKnocks, Seconds(20)));
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
  for (const std::string& listener : listeners) {
    INFO(listener);
    const std::size_t lines = count_of(run.log(listener), "refused peer=");
    CHECK(lines > 0);
    CHECK(lines < 50);
  }
}

TEST_CASE("a farm over TLS stores the same data as without, and plaintext peers are rejected") {
  const TemporaryFolder folder;
  const Key key(folder);
  std::vector<std::string> settings = steady(key);
  settings.insert(settings.end(), {"--set", "security.tls=true", "--set", "source.size_bytes=20000"});
  FarmRun run(folder, config_file("event-building.yaml"), settings);
  REQUIRE(run.wait_for_data(1'000'000));
  for (const std::string& listener : kListeners) {
    INFO(listener);
    WireClient plain(run.port_of(listener), role_at(listener), "dcm-0", kFarm);
    CHECK(plain.raw().closed_by_peer(Seconds(10)));
    const RawClient silent(run.port_of(listener));
    CHECK(silent.closed_by_peer(Seconds(10)));
    CHECK(run.wait_for_log(listener, "no TLS connection: both sides need security.tls and the same key"));
  }
  const std::uint64_t before = run.data_bytes();
  REQUIRE(run.wait_for_data(before + 1'000'000));
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count_all("discarded") == 0);
  CHECK(end.summary.count("stored") == end.summary.count("triggered"));
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
}

TEST_CASE("a process that would be reached from other machines does not start without a key") {
  const TemporaryFolder folder;
  const std::vector<std::string> exposed{
      "--farm", config_file("event-building.yaml"), "--name", "readout-0", "--listen", "0.0.0.0:0"};
  const CommandEnd end = run_command(folder, "weir-readout", exposed);
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring("security.key_file: needed") &&
                          Catch::ContainsSubstring("0.0.0.0:0") &&
                          Catch::ContainsSubstring("security.mode=open"));
  const CommandEnd check = run_command(
      folder, "weir", {"check", config_file("event-building.yaml"), "--set", "writer.host=10.0.0.7"});
  CHECK(check.status == 2);
  CHECK_THAT(check.err, Catch::ContainsSubstring("writer-0 listens at 10.0.0.7:0"));
}

TEST_CASE("an invalid key file stops the run before it begins, with the remedy") {
  const TemporaryFolder folder;
  const Key key(folder);
  std::filesystem::permissions(key.file, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  const CommandEnd end = run_command(folder, "weir",
                                     {"run", config_file("event-building.yaml"), "--out", folder / "out",
                                      "--set", "security.key_file=" + key.file});
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring("security.key_file") && Catch::ContainsSubstring("chmod 600"));
}
