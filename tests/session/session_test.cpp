#include "conversation.hpp"
#include "impostor.hpp"
#include "weir_catch.hpp"
#include <weir/wire/batch.hpp>

#include <spdlog/spdlog.h>

using namespace weir;
using namespace weir::session_test;

namespace {

constexpr std::size_t kGrowthMax = 64U << 20;  // growth of the process, beyond the stored data

struct Quiet {
  Quiet() { spdlog::set_level(spdlog::level::off); }
};

std::string with_nodes(int readouts, int dcms, int writers) {
  return "trigger: {mode: rate, rate_hz: 100}\n"
         "source: {kind: dummy, size_bytes: 100}\n"
         "supervisor: {lease_ms: 100, status_interval_ms: 20}\n"
         "network: {reconnect_ms: 10, hello_timeout_ms: 100}\n"
         "filter: {plugin: accept-all}\n"
         "readout: {count: " +
         std::to_string(readouts) + ", sources_per_readout: 2}\n" + "dcm: {count: " + std::to_string(dcms) +
         ", credits: 4, deadline_ms: 20, grace_ms: 10}\n" + "writer: {count: " + std::to_string(writers) +
         ", sync_interval_ms: 5}\n";
}

// Runs one long conversation with one farm; search.cpp runs many short ones.
Outcome long_conversation(Part who, std::uint64_t seed = 0) {
  constexpr std::uint64_t kSequences = 1500;
  const Quiet quiet;
  const Outcome outcome = converse(who, seed, kSequences);
  INFO(outcome.problem);
  CHECK(outcome.problem.empty());
  CHECK(outcome.sequences == kSequences);
  CHECK(outcome.growth_bytes < kGrowthMax);
  return outcome;
}

}  // namespace

TEST_CASE("strangers at every listener change nothing but counters, whatever they send") {
  const Outcome outcome = long_conversation(Part::stranger);
  CHECK(outcome.refused > 100);
  CHECK(outcome.protocol_errors > 50);
}

TEST_CASE(
    "a DCM that sends arbitrary messages costs no slice: the others are served, and all its slices are "
    "settled") {
  const Outcome outcome = long_conversation(Part::dcm);
  CHECK(outcome.protocol_errors > 100);
  CHECK(outcome.triggered > 100);
}

TEST_CASE("a readout that sends arbitrary messages stops no other node") {
  const Outcome outcome = long_conversation(Part::readout);
  CHECK(outcome.protocol_errors > 100);
  CHECK(outcome.triggered > 100);
}

TEST_CASE("a writer that sends arbitrary messages stops no other node") {
  const Outcome outcome = long_conversation(Part::writer);
  CHECK(outcome.protocol_errors > 100);
  CHECK(outcome.triggered > 100);
}

TEST_CASE("nodes survive a supervisor that sends arbitrary messages, and still accept connections") {
  Outcome all;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const Outcome outcome = long_conversation(Part::supervisor, seed);
    all.assigned += outcome.assigned;
    all.records += outcome.records;
    all.produced += outcome.produced;
  }
  // The nodes did process the messages. A run whose first slices are far ahead produces no fragments.
  CHECK(all.assigned > 3000);
  CHECK(all.records > 5);
  CHECK(all.produced > 0);
}

TEST_CASE("a conversation is the same whenever it is led") {
  const Quiet quiet;
  for (std::size_t who = 0; who < kParts; ++who) {
    const Outcome first = converse(static_cast<Part>(who), 5);
    const Outcome again = converse(static_cast<Part>(who), 5);
    INFO(name(static_cast<Part>(who)) << ": " << first.problem);
    CHECK(first.problem.empty());
    CHECK(first.sequences == again.sequences);
    CHECK(first.triggered == again.triggered);
    CHECK(first.protocol_errors == again.protocol_errors);
    CHECK(first.records == again.records);
  }
}

TEST_CASE(
    "a second connection with a node's hello is refused while that node sends, and accepted when it is "
    "silent") {
  const Quiet quiet;
  MemoryFarm farm(with_nodes(1, 1, 1));
  for (const char* name : {"supervisor", "readout-0", "dcm-0", "writer-0"}) farm.start(name);
  Watcher watcher(farm);
  demand_progress(farm, watcher);
  farm.turn(50);
  watcher.listen();
  v1::Hello hello;
  hello.set_version(wire::kVersion);
  hello.set_role(v1::ROLE_DCM);
  hello.set_name("dcm-0");
  hello.set_farm("session");
  hello.set_credits(4);
  for (const v1::Report& report : watcher.status.nodes()) {
    if (report.name() == "dcm-0") hello.set_incarnation(report.incarnation());
  }
  REQUIRE(hello.incarnation() != 0);
  for (int i = 0; i < 20; ++i) {
    RawPeer again;
    again.connect(farm.network(), farm.port_of("supervisor"));
    again.send(wire::FrameType::hello, hello);
    farm.turn(7);
    CHECK(again.closed());
  }
  demand_progress(farm, watcher);
  CHECK(watcher.counter("supervisor", "peers.refused_hello") >= 15);
  CHECK(watcher.counter("supervisor", "supervisor.reopened") == 0);
  farm.halt("dcm-0");
  farm.turn(60);
  RawPeer again;
  again.connect(farm.network(), farm.port_of("supervisor"));
  again.send(wire::FrameType::hello, hello);
  farm.turn(5);
  CHECK(!again.closed());
  again.leave();
  farm.go_on("dcm-0");
  end_run(farm, watcher);
  CHECK(watcher.summary.balanced());
}

TEST_CASE("a readout refuses a frame that requests more sources than exist") {
  const Quiet quiet;
  MemoryFarm farm(with_nodes(1, 1, 1));
  farm.start("readout-0");
  RawPeer client;
  client.connect(farm.network(), farm.port_of("readout-0"));
  v1::Hello hello;
  hello.set_version(wire::kVersion);
  hello.set_role(v1::ROLE_DCM);
  hello.set_name("dcm-0");
  hello.set_farm("session");
  client.send(wire::FrameType::hello, hello);
  wire::RequestWriter writer;
  const std::uint16_t set = writer.add_set(std::vector<SourceId>(60'000, SourceId(7)));
  for (std::uint64_t slice = 0; slice < wire::kBatchEntriesMax; ++slice) {
    writer.add({SliceId(slice), Attempt(0), set, 0, 0});
  }
  std::vector<std::byte> frame;
  writer.take_frame(frame);
  client.send(frame);
  farm.turn(3);
  CHECK(client.closed());
}
