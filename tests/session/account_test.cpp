// Tests that a finished run's account is kept until a watching client confirms it.
#include "impostor.hpp"
#include "memory_farm.hpp"
#include "weir_catch.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>

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

TEST_CASE("a restarted supervisor sends the account of a run that no watching client has confirmed") {
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

TEST_CASE("faults and lost livetime are in the account after a supervisor's death") {
  spdlog::set_level(spdlog::level::off);
  MemoryFarm farm(kFarm);
  for (const char* name : {"supervisor", "readout-0", "dcm-0", "writer-0"}) farm.start(name);
  const auto command = [&farm](v1::Command::Kind kind) {
    v1::Command one;
    one.set_kind(kind);
    farm.node("supervisor").on_command(one);
  };
  farm.turn(300);
  farm.start("dcm-0");  // another process
  farm.turn(300);
  command(v1::Command::PAUSE);
  farm.turn(2'000);
  farm.start("supervisor");
  farm.turn(500);
  command(v1::Command::CONTINUE);
  farm.turn(300);
  Watcher watcher(farm);
  farm.turn(20);
  command(v1::Command::STOP);
  for (int i = 0; i < kTurnsToEnd && watcher.summary.ledger_text().empty(); ++i) {
    farm.turn();
    watcher.listen();
  }
  REQUIRE(watcher.summary.balanced());
  const auto& faults = watcher.summary.faults_text();
  CHECK(std::count_if(faults.begin(), faults.end(),
                      [](const std::string& fault) { return fault.starts_with("dcm-0 was lost"); }) == 1);
  REQUIRE(faults.size() == 2);
  CHECK_THAT(faults[1], Catch::ContainsSubstring("the supervisor was restarted"));
  const auto& counters = watcher.summary.counters();
  CHECK(counters.at("paused_ms") >= 2'490);
  CHECK(counters.at("throttled_ms.RUN_PAUSED") >= 2'390);
  CHECK(counters.at("lost_livetime_ms") >= 2'390);
}

TEST_CASE("a process replaces a silent one, even if the connections of that are still open") {
  spdlog::set_level(spdlog::level::off);
  const std::string name = GENERATE("readout-0", "dcm-0", "writer-0");
  CAPTURE(name);
  MemoryFarm farm(kFarm);
  for (const char* node : {"supervisor", "readout-0", "dcm-0", "writer-0"}) farm.start(node);
  Watcher watcher(farm);
  farm.turn(300);
  farm.start_beside(name);
  farm.turn(1'000);  // two status intervals are 40
  const auto stored_now = [&] {
    watcher.listen();
    return watcher.counter("supervisor", "stored");
  };
  const std::uint64_t before = stored_now();
  farm.turn(1'000);
  CHECK(stored_now() > before + 100);
}
