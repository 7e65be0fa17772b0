// Tests that slices keep their order and their times when single passes of a busy machine take long.
#include "impostor.hpp"
#include "memory_farm.hpp"
#include "weir_catch.hpp"

#include <spdlog/spdlog.h>

using namespace weir;
using namespace weir::session_test;

namespace {

constexpr std::uint64_t kSlicesInOrder = 200;
constexpr int kTurnsInOrder = 30'000;
constexpr int kSlowEvery = 23;  // turns
constexpr DurationNs kLate = 15 * kMillisecond;

const char* const kInOrder =
    "trigger: {mode: rate, rate_hz: 500}\nsource: {kind: dummy, size_bytes: 1000}\n"
    "supervisor: {status_interval_ms: 20}\nfilter: {plugin: accept-all}\nrun: {out: out, mode: push}\n"
    "readout: {count: 2}\ndcm: {count: 2, incomplete: order, push_wait_ms: 2000, push_active_slices: 1000}\n"
    "writer: {count: 1, sync_interval_ms: 5}\nnetwork: {reconnect_ms: 10}\n";

}  // namespace

TEST_CASE("in order no fragment is late when a pass of the supervisor takes several slices' time") {
  spdlog::set_level(spdlog::level::off);
  MemoryFarm farm(kInOrder, kSlicesInOrder);
  for (const char* name : {"supervisor", "readout-0", "readout-1", "dcm-0", "dcm-1", "writer-0"})
    farm.start(name);
  Watcher watcher(farm);
  for (int i = 0; i < kTurnsInOrder && watcher.summary.ledger_text().empty(); ++i) {
    farm.slow_down(i % kSlowEvery == 0 ? kLate : 0);
    farm.turn();
    watcher.listen();
  }
  REQUIRE(watcher.summary.balanced());
  CHECK(watcher.summary.counters().at("stored") == kSlicesInOrder);
  CHECK(watcher.summary.counters().at("stored_incomplete") == 0);
}
