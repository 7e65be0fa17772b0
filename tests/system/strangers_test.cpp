#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include "wire_client.hpp"
#include <weir/wire/batch.hpp>
#include <weir/wire/block.hpp>

#include <csignal>
#include <random>
#include <thread>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr char kFarm[] = "event-building";

// A farm that runs until it is stopped, slow enough to keep its file small.
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

// Byte strings that a stranger may send, one connection each.
std::vector<std::vector<std::byte>> garbage() {
  std::vector<std::vector<std::byte>> all;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) all.push_back(random_bytes(32 * seed, seed));
  all.push_back(std::vector<std::byte>(64));
  // Frames that end in the header, end in the payload, or claim 4 GiB.
  std::vector<std::byte> frame;
  wire::append_frame(wire::FrameType::hello, random_bytes(200, 99), frame);
  all.emplace_back(frame.begin(), frame.begin() + 16);
  all.emplace_back(frame.begin(), frame.begin() + 100);
  std::vector<std::byte> huge = frame;
  store_le<std::uint32_t>(huge.data() + 4, UINT32_MAX);
  all.push_back(huge);
  // A complete hello frame with an invalid payload; a valid frame that may not come first.
  all.push_back(frame);
  std::vector<std::byte> request;
  wire::append_frame(wire::FrameType::request, random_bytes(64, 7), request);
  all.push_back(request);
  return all;
}

// Returns the number of connections that this node dropped, for any reason.
std::uint64_t refused(const v1::RunSummary& account, const std::string& node) {
  return counters_of(account, node, "peers.protocol_errors.") +
         counter_of(account, node, "peers.refused_hello") + counter_of(account, node, "peers.silent");
}

FarmEnd stop(FarmRun& run) {
  run.process().send_signal(SIGINT);
  return run.finish();
}

}  // namespace

TEST_CASE("garbage and truncated frames at every port are counted and the run continues") {
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
    // Connections that end in mid-frame are closed after the hello timeout.
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

TEST_CASE("a stranger with a good hello and then garbage is disconnected and the run continues") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), steady());
  FarmWatcher watcher(run.port_of("supervisor"), kFarm);
  REQUIRE(run.wait_for_data(100'000));
  const std::vector<std::string> nodes{"supervisor", "readout-0", "writer-0"};
  for (const std::string& node : nodes) {
    const v1::Role role = node == "supervisor" ? v1::ROLE_CONTROL : v1::ROLE_DCM;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      WireClient client(run.port_of(node), role, "dcm-0", kFarm);
      REQUIRE(client.receive(Seconds(10)).has_value());  // its hello
      (void)client.raw().send(random_bytes(4096, seed));
      CHECK(client.raw().closed_by_peer(Seconds(10)));
    }
    WireClient client(run.port_of(node), role, "dcm-0", kFarm);
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
  WireClient client(run.port_of("writer-0"), v1::ROLE_DCM, "dcm-0", kFarm);
  REQUIRE(client.receive(Seconds(10)).has_value());
  std::vector<std::byte> record;
  wire::append_frame(wire::FrameType::data, random_bytes(1000, 5), record);
  (void)client.raw().send(record);
  CHECK(client.raw().closed_by_peer(Seconds(10)));
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
  CHECK(counter_of(watcher.account(), "writer-0", "writer.grant_violations") == 1);
}

TEST_CASE(
    "a DCM that stops reading is answered when it resumes, and until then costs the readout bounded memory") {
  constexpr std::uint64_t kFrames = 400;
  constexpr std::uint64_t kSources = 4;  // sources of the readout
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"),
              steady({"readout.count=1", "trigger.first_slice=1000",
                      "readout.sources_per_readout=" + std::to_string(kSources)}));
  FarmWatcher watcher(run.port_of("supervisor"), kFarm);
  REQUIRE(run.wait_for_data(100'000));
  WireClient client(run.port_of("readout-0"), v1::ROLE_DCM, "dcm-0", kFarm);
  REQUIRE(client.receive(Seconds(10)).has_value());
  // Slices before the run's first: each answer reports an absent fragment.
  wire::RequestWriter request;
  for (std::size_t i = 0; i < wire::kBatchEntriesMax; ++i)
    request.add({SliceId(i % 10), Attempt(0), wire::kAllSources, 0, 0});
  std::vector<std::byte> frame;
  request.take_frame(frame);
  std::thread asks([&] {
    for (std::uint64_t i = 0; i < kFrames; ++i) (void)client.raw().send(frame);
  });
  CHECK(watcher.wait_for_counter("readout-0", "readout.held_back", 1, Seconds(30)));
  const v1::Report busy = watcher.report_of("readout-0", Seconds(10));
  CHECK(busy.gauges().at("process.rss_max_bytes") < 600e6);
  constexpr std::uint64_t kExpected = kFrames * wire::kBatchEntriesMax * kSources;
  std::uint64_t heard = 0;  // rows
  while (heard < kExpected) {
    const auto answer = client.receive(Seconds(20));
    if (!answer) break;
    CHECK(answer->header.type == wire::FrameType::block);
    heard += wire::block_head(answer->header).rows;
  }
  asks.join();
  CHECK(heard == kExpected);
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
}

TEST_CASE("a peer of another version, farm or run is refused with a sentence that names both") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), steady());
  const std::uint16_t port = run.port_of("supervisor");
  FarmWatcher watcher(port, kFarm);
  REQUIRE(run.wait_for_log("supervisor", "run began"));
  {
    WireClient client(port, v1::ROLE_CONTROL, "old", kFarm, 1, 77);
    CHECK_THAT(client.receive_refusal(Seconds(10)),
               Catch::ContainsSubstring("version 77") &&
                   Catch::ContainsSubstring("version " + std::to_string(wire::kVersion)));
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

TEST_CASE("a silent client is dropped when the time for its hello is over, and counted") {
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

TEST_CASE("silent clients beyond a port's limit are turned away and the run continues") {
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

namespace {

// The traffic that a stranger can capture: a present node's hello, as its process sent it, and messages of
// its kind.
struct Recording {
  std::vector<std::byte> hello;
  std::vector<std::vector<std::byte>> messages;
};

template <class Message>
std::vector<std::byte> framed(wire::FrameType type, const Message& message) {
  const std::string payload = message.SerializeAsString();
  std::vector<std::byte> frame;
  wire::append_frame(type, std::as_bytes(std::span(payload)), frame);
  return frame;
}

Recording recording_of(const v1::Report& dcm) {
  Recording recording;
  v1::Hello hello;
  hello.set_version(wire::kVersion);
  hello.set_role(v1::ROLE_DCM);
  hello.set_name(dcm.name());
  hello.set_index(dcm.index());
  hello.set_run(1);
  hello.set_farm(kFarm);
  hello.set_incarnation(dcm.incarnation());
  hello.set_credits(64);
  recording.hello = framed(wire::FrameType::hello, hello);
  v1::Control decide;
  wire::RequestWriter request;
  std::vector<wire::CopyId> entries;
  for (std::uint64_t slice = 0; slice < 50; ++slice) {
    decide.mutable_decide()->add_slice(slice);
    decide.mutable_decide()->mutable_verdict()->push_back(v1::VERDICT_REJECT);
    request.add({SliceId(slice), Attempt(0), wire::kAllSources, 0, 0});
    entries.push_back({SliceId(slice), Attempt(0), StoreEpoch(0)});
  }
  v1::Control report;
  *report.mutable_report() = dcm;
  v1::Control space;
  space.mutable_space()->set_wanted_total(5000);
  for (const v1::Control* message : {&decide, &report, &space}) {
    recording.messages.push_back(framed(wire::FrameType::control, *message));
  }
  recording.messages.emplace_back();
  request.take_frame(recording.messages.back());
  for (const wire::FrameType type : {wire::FrameType::stored, wire::FrameType::cancel}) {
    recording.messages.emplace_back();
    wire::append_slice_entries(type, entries, recording.messages.back());
  }
  return recording;
}

// One of the ways to talk wrongly: garbage, a recording as it is, cut short, out of order, damaged, repeated.
std::vector<std::byte> nonsense(const Recording& recording, std::mt19937_64& random) {
  const auto message = [&] { return recording.messages[random() % recording.messages.size()]; };
  const auto join = [](std::vector<std::byte> a, const std::vector<std::byte>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  switch (random() % 7) {
    case 0:
      return random_bytes(1 + random() % 2000, random());
    case 1:
      return join(recording.hello, message());
    case 2: {
      auto cut = join(recording.hello, message());
      cut.resize(1 + random() % (cut.size() - 1));
      return cut;
    }
    case 3:
      return join(message(), recording.hello);
    case 4: {
      auto damaged = join(recording.hello, message());
      damaged[random() % damaged.size()] ^= std::byte{1};
      return damaged;
    }
    case 5:
      return join(recording.hello, recording.hello);
    default:
      return join(join(recording.hello, message()), join(message(), message()));
  }
}

}  // namespace

TEST_CASE("a thousand connections with garbage, cut, repeated and disordered traffic change only counters") {
  constexpr std::size_t kConnections = 1000;
  constexpr std::size_t kAtOnce = 20;  // connections to one port, below its limit
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), steady({"network.hello_timeout_ms=500"}));
  FarmWatcher watcher(run.port_of("supervisor"), kFarm);
  REQUIRE(run.wait_for_data(100'000));
  const Recording recording = recording_of(watcher.report_of("dcm-0", Seconds(10)));
  const std::vector<std::string> nodes{"supervisor", "readout-0", "readout-1", "writer-0"};
  std::mt19937_64 random(4);
  for (std::size_t made = 0; made < kConnections;) {
    const std::uint16_t port = run.port_of(nodes[made / kAtOnce % nodes.size()]);
    std::vector<RawClient> clients;
    for (std::size_t i = 0; i < kAtOnce; ++i, ++made) {
      clients.emplace_back(port);
      (void)clients.back().send(nonsense(recording, random));
    }
    (void)clients.back().closed_by_peer(Seconds(0.05));
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
    CHECK(counter_of(account, node, "peers.accepted") >= kConnections / nodes.size() - kAtOnce);
    CHECK(refused(account, node) >= kConnections / nodes.size() / 4);
  }
  CHECK(counter_of(account, "supervisor", "supervisor.reopened") == 0);
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
}
