// The account of a run that is over: given until somebody says that he has it.
#include "impostor.hpp"
#include "rig.hpp"
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

void until_it_ends(Rig& rig, Watcher& watcher) {
  for (int i = 0; i < kTurnsToEnd && !rig.node("supervisor").finished(); ++i) {
    rig.turn();
    watcher.listen();
  }
  REQUIRE(rig.node("supervisor").finished());
}

std::uint64_t stored(const Watcher& watcher) { return watcher.summary.counters().at("stored"); }

}  // namespace

TEST_CASE("the account of a run is given by the next supervisor when nobody has said that he has it") {
  spdlog::set_level(spdlog::level::off);
  Rig rig(kFarm, kSlices);
  for (const char* name : {"supervisor", "readout-0", "dcm-0", "writer-0"}) rig.start(name);
  {
    Watcher watcher(rig);  // takes it, and is gone before it says so
    until_it_ends(rig, watcher);
    CHECK(stored(watcher) == kSlices);
  }
  CHECK(rig.journal().is_there());

  rig.start("supervisor");
  Watcher watcher(rig);
  rig.turn(5'000);
  watcher.listen();
  REQUIRE(watcher.summary.balanced());
  CHECK(stored(watcher) == kSlices);
  watcher.confirm();
  until_it_ends(rig, watcher);
  CHECK_FALSE(rig.journal().is_there());
}
