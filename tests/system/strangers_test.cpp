#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include "wire_client.hpp"
#include <weir/wire/batch.hpp>

#include <csignal>
#include <random>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr char kFarm[] = "event-building";

// A farm that runs until it is told to stop, not so fast that its file grows large.
std::vector<std::string> steady(const std::vector<std::string>& more = {}) {
  std::vector<std::string> assignments{"trigger.mode=rate", "trigger.rate_hz=500",
                                       "supervisor.status_interval_ms=100", "readout.count=2"};
  assignments.insert(assignments.end(), more.begin(), more.end());
  return sets(assignments);
}

std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// What a stranger may say, one connection each.
std::vector<std::vector<std::byte>> garbage() {
  std::vector<std::vector<std::byte>> all;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) all.push_back(random_bytes(32 * seed, seed));
  all.push_back(std::vector<std::byte>(64));
  // A frame that ends in its header, one that ends in its payload, one that claims 4 GiB.
  std::vector<std::byte> frame;
  wire::append_frame(wire::FrameType::hello, random_bytes(200, 99), frame);
  all.emplace_back(frame.begin(), frame.begin() + 16);
  all.emplace_back(frame.begin(), frame.begin() + 100);
  std::vector<std::byte> huge = frame;
  store_le<std::uint32_t>(huge.data() + 4, UINT32_MAX);
  all.push_back(huge);
  // A whole hello frame whose payload is no hello; a good frame that may not be the first.
  all.push_back(frame);
  std::vector<std::byte> request;
  wire::append_frame(wire::FrameType::request, random_bytes(64, 7), request);
  all.push_back(request);
  return all;
}

// What connections were given up for at this node, whatever the reason.
std::uint64_t refused(const v1::RunSummary& account, const std::string& node) {
  return counters_of(account, node, "peers.protocol_errors.") +
         counter_of(account, node, "peers.refused_hello") + counter_of(account, node, "peers.silent");
}

FarmEnd stop(FarmRun& run) {
  run.process().send_signal(SIGINT);
  return run.finish();
}

}  // namespace

TEST_CASE("garbage and truncated frames at every port are counted and the run goes on") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), steady({"network.hello_timeout_ms=500"}));
  FarmWatcher watcher(run.port_of("supervisor"), kFarm);
  REQUIRE(run.wait_for_data(100'000));
  const std::vector<std::string> nodes{"supervisor", "readout-0", "readout-1", "writer-0"};
  const auto all = garbage();
  for (const std::string& node : nodes) {
    const std::uint16_t port = run.port_of(node);
    std::vector<RawClient> clients;
    for (const auto& bytes : all) {
      clients.emplace_back(port);
      (void)clients.back().send(bytes);
    }
    INFO(node);
    // Those that ended in the middle of a frame are waited for, up to the time that a hello may take.
    for (const RawClient& client : clients) CHECK(client.closed_by_peer(Seconds(5)));
  }
  const std::uint64_t before = run.data_bytes();
  REQUIRE(run.wait_for_data(before + 100'000));
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count_all("discarded") == 0);
  CHECK(end.summary.count("stored") == end.summary.count("triggered"));
  const v1::RunSummary account = watcher.account();
  for (const std::string& node : nodes) {
    INFO(node);
    CHECK(refused(account, node) == all.size());
  }
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
}

TEST_CASE("a stranger with a good hello who goes on with garbage is dropped and the run goes on") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), steady());
  FarmWatcher watcher(run.port_of("supervisor"), kFarm);
  REQUIRE(run.wait_for_data(100'000));
  const std::vector<std::string> nodes{"supervisor", "readout-0", "writer-0"};
  for (const std::string& node : nodes) {
    const v1::Role role = node == "supervisor" ? v1::ROLE_CONTROL : v1::ROLE_DCM;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      WireClient client(run.port_of(node), role, "stranger", kFarm);
      REQUIRE(client.receive(Seconds(10)).has_value());  // its hello
      (void)client.raw().send(random_bytes(4096, seed));
      CHECK(client.raw().closed_by_peer(Seconds(10)));
    }
    WireClient client(run.port_of(node), role, "stranger", kFarm);
    REQUIRE(client.receive(Seconds(10)).has_value());
    // A message that has no place there.
    v1::Control message;
    message.mutable_directory();
    client.send(message);
    CHECK(client.raw().closed_by_peer(Seconds(10)));
  }
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
  const v1::RunSummary account = watcher.account();
  for (const std::string& node : nodes) {
    INFO(node);
    CHECK(counters_of(account, node, "peers.protocol_errors.") >= 5);
  }
}

TEST_CASE("a writer does not take data that it has granted no room for") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), steady());
  FarmWatcher watcher(run.port_of("supervisor"), kFarm);
  REQUIRE(run.wait_for_data(100'000));
  WireClient client(run.port_of("writer-0"), v1::ROLE_DCM, "stranger", kFarm);
  REQUIRE(client.receive(Seconds(10)).has_value());
  std::vector<std::byte> record;
  wire::append_frame(wire::FrameType::data, random_bytes(1000, 5), record);
  (void)client.raw().send(record);
  CHECK(client.raw().closed_by_peer(Seconds(10)));
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
  CHECK(counter_of(watcher.account(), "writer-0", "writer.grant_violations") == 1);
}

TEST_CASE("a peer of another version, farm or run is refused with a sentence that names both") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), steady());
  const std::uint16_t port = run.port_of("supervisor");
  FarmWatcher watcher(port, kFarm);
  REQUIRE(run.wait_for_log("supervisor", "run begins"));
  {
    WireClient client(port, v1::ROLE_CONTROL, "old", kFarm, 1, 77);
    CHECK_THAT(client.receive_refusal(Seconds(10)),
               Catch::ContainsSubstring("version 77") && Catch::ContainsSubstring("version 1"));
  }
  {
    WireClient client(port, v1::ROLE_CONTROL, "lost", "another-farm");
    CHECK_THAT(client.receive_refusal(Seconds(10)),
               Catch::ContainsSubstring("another-farm") && Catch::ContainsSubstring(kFarm));
  }
  {
    WireClient client(port, v1::ROLE_CONTROL, "late", kFarm, 7);
    CHECK_THAT(client.receive_refusal(Seconds(10)),
               Catch::ContainsSubstring("run 7") && Catch::ContainsSubstring("run 1"));
  }
  {
    WireClient client(port, v1::ROLE_DCM, "dcm-9", kFarm);
    CHECK_THAT(client.receive_refusal(Seconds(10)), Catch::ContainsSubstring("dcm-9"));
  }
  {
    WireClient client(port, v1::ROLE_DCM, "dcm-0", kFarm);
    CHECK_THAT(client.receive_refusal(Seconds(10)), Catch::ContainsSubstring("here already"));
  }
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
  CHECK(counter_of(watcher.account(), "supervisor", "peers.refused_hello") == 5);
}

TEST_CASE("a client that says nothing is dropped when the time for its hello is over, and counted") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), steady({"network.hello_timeout_ms=300"}));
  FarmWatcher watcher(run.port_of("supervisor"), kFarm);
  REQUIRE(run.wait_for_data(100'000));
  const std::vector<std::string> nodes{"supervisor", "readout-0", "readout-1", "writer-0"};
  std::vector<RawClient> clients;
  for (const std::string& node : nodes) clients.emplace_back(run.port_of(node));
  for (const RawClient& client : clients) CHECK(client.closed_by_peer(Seconds(10)));
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
  const v1::RunSummary account = watcher.account();
  for (const std::string& node : nodes) {
    INFO(node);
    CHECK(counter_of(account, node, "peers.silent") == 1);
  }
}

TEST_CASE("more silent clients than a port takes are turned away and the run goes on") {
  constexpr std::size_t kClients = 400;  // a port takes 256
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), steady({"network.hello_timeout_ms=1000"}));
  const std::uint16_t port = run.port_of("supervisor");
  FarmWatcher watcher(port, kFarm);
  REQUIRE(run.wait_for_data(100'000));
  std::vector<RawClient> clients;
  for (std::size_t i = 0; i < kClients; ++i) clients.emplace_back(port);
  std::size_t closed = 0;
  for (const RawClient& client : clients) closed += client.closed_by_peer(Seconds(10)) ? 1 : 0;
  CHECK(closed == kClients);
  // There is room again.
  WireClient late(port, v1::ROLE_CONTROL, "late", kFarm);
  CHECK(late.receive_control(Seconds(10)).has_value());
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
  const v1::RunSummary account = watcher.account();
  const std::uint64_t full = counter_of(account, "supervisor", "peers.refused_full");
  CHECK(full >= kClients - 256);
  CHECK(full + counter_of(account, "supervisor", "peers.silent") == kClients);
}
