// How long a supervisor waits for the processes of a run.
#include "memory_farm.hpp"
#include "raw_peer.hpp"
#include "weir_catch.hpp"

#include <spdlog/spdlog.h>

using namespace weir;
using namespace weir::session_test;

namespace {

// 2 s, and 0.1 s for each of the five processes.
constexpr char kSettings[] =
    "supervisor: {gather_s: 2}\n"
    "network: {reconnect_ms: 10}\n"
    "filter: {plugin: accept-all}\n"
    "readout: {count: 2}\n"
    "dcm: {count: 1}\n"
    "writer: {count: 1}\n";
constexpr int kGatherTurns = 2500;

// A scripted readout-1 among real processes.
struct Scripted {
  explicit Scripted(MemoryFarm& farm) {
    v1::Hello hello;
    hello.set_version(wire::kVersion);
    hello.set_role(v1::ROLE_READOUT);
    hello.set_name("readout-1");
    hello.set_index(1);
    hello.set_farm("session");
    hello.set_incarnation(77);
    peer.connect(farm.network(), farm.port_of("supervisor"));
    peer.send(wire::FrameType::hello, hello);
  }
  void answer(const std::string& refusal) {
    v1::Control message;
    message.mutable_begun()->set_refusal(refusal);
    peer.send(message);
  }
  RawPeer peer;
};

}  // namespace

TEST_CASE("a run fails after supervisor.gather_s and names the processes that stayed away") {
  spdlog::set_level(spdlog::level::off);
  MemoryFarm farm(kSettings);
  for (const char* name : {"supervisor", "readout-0", "dcm-0"}) farm.start(name);
  farm.turn(kGatherTurns - 10);
  CHECK_FALSE(farm.node("supervisor").finished());
  farm.turn(20);
  CHECK(farm.node("supervisor").finished());
  CHECK_THAT(farm.node("supervisor").failure(),
             Catch::ContainsSubstring("no connection from writer-0, readout-1"));
}

TEST_CASE("a run begins when its last process joins within supervisor.gather_s") {
  spdlog::set_level(spdlog::level::off);
  MemoryFarm farm(kSettings);
  for (const char* name : {"supervisor", "readout-0", "dcm-0", "writer-0"}) farm.start(name);
  farm.turn(kGatherTurns - 100);
  CHECK_FALSE(farm.node("supervisor").begun());
  farm.start("readout-1");
  farm.turn(200);
  CHECK(farm.node("supervisor").begun());
}

TEST_CASE("a run begins when every readout and DCM has begun it, and a refusal keeps it from beginning") {
  spdlog::set_level(spdlog::level::off);
  MemoryFarm farm(kSettings);
  for (const char* name : {"supervisor", "readout-0", "dcm-0", "writer-0"}) farm.start(name);
  Scripted readout(farm);
  farm.turn(200);
  node::Node& supervisor = farm.node("supervisor");
  CHECK_FALSE(supervisor.begun());
  SECTION("it begins") {
    readout.answer({});
    farm.turn(20);
    CHECK(supervisor.begun());
  }
  SECTION("it refuses") {
    readout.answer("no high voltage");
    farm.turn(20);
    CHECK(supervisor.finished());
    CHECK(supervisor.failure() == "the run cannot begin: readout-1: no high voltage");
  }
  SECTION("it does not answer") {
    farm.turn(kGatherTurns);
    CHECK(supervisor.failure() == "the run cannot begin: no answer to BeginRun from readout-1");
  }
  SECTION("its connection breaks: it is told again") {
    readout.peer.leave();
    farm.turn(20);
    Scripted again(farm);
    farm.turn(20);
    CHECK_FALSE(supervisor.begun());
    again.answer({});
    farm.turn(20);
    CHECK(supervisor.begun());
  }
}
