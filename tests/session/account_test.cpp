// The account of a run that is over: kept until a watching client confirms that it has it.
#include "impostor.hpp"
#include "memory_farm.hpp"
#include "weir_catch.hpp"

#include <spdlog/spdlog.h>

using namespace weir;
using namespace weir::session_test;

namespace {

constexpr std::uint64_t kSlices = 50;
constexpr int kTurnsToEnd = 30'000;

const char* const kFarm =
    "trigger: {mode: max}\nsource: {kind: dummy, size_bytes: 1000}\n"
    "supervisor: {status_interval_ms: 20}\nfilter: {plugin: accept-all}\n"
    "readout: {count: 1}\ndcm: {count: 1}\nwriter: {count: 1, sync_interval_ms: 5}\n"
    "network: {reconnect_ms: 10}\n";

void until_it_ends(MemoryFarm& farm, Watcher& watcher) {
  for (int i = 0; i < kTurnsToEnd && !farm.node("supervisor").finished(); ++i) {
    farm.turn();
    watcher.listen();
  }
  REQUIRE(farm.node("supervisor").finished());
}

std::uint64_t stored(const Watcher& watcher) { return watcher.summary.counters().at("stored"); }

}  // namespace

TEST_CASE(
    "a supervisor that is started again gives the account of a run that no watching client has confirmed") {
  spdlog::set_level(spdlog::level::off);
  MemoryFarm farm(kFarm, kSlices);
  for (const char* name : {"supervisor", "readout-0", "dcm-0", "writer-0"}) farm.start(name);
  {
    Watcher watcher(farm);  // takes it, and is gone before it says so
    until_it_ends(farm, watcher);
    CHECK(stored(watcher) == kSlices);
  }
  CHECK(farm.journal().is_there());

  farm.start("supervisor");
  Watcher watcher(farm);
  farm.turn(5'000);
  watcher.listen();
  REQUIRE(watcher.summary.balanced());
  CHECK(stored(watcher) == kSlices);
  watcher.confirm();
  until_it_ends(farm, watcher);
  CHECK_FALSE(farm.journal().is_there());
}
