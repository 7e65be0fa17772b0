// How long a supervisor waits for the processes of a run.
#include "memory_farm.hpp"
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
