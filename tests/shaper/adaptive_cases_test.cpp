// What `adaptive` reaches on networks with names, without knowing them. The seeds of the search go further.
#include "cases.hpp"
#include "model.hpp"
#include "weir_catch.hpp"

namespace weir::shaper_model {

TEST_CASE("adaptive fills a quiet port without a loss, and slices hardly wait") {
  for (const char* name : {"lan-8to1", "lan-24to1", "lan-1g", "foreign-udp"}) {
    CAPTURE(name);
    const RunResult run = Model(case_named(name), {"adaptive", 0}).run();
    CHECK(run.goodput > 0.993);
    CHECK(run.p99 < (std::string(name) == "foreign-udp" ? 2.0 : 1.1));
    CHECK(run.drops == 0);
  }
}

TEST_CASE("adaptive takes no busy, pausing or slow host for a full queue") {
  const RunResult busy = Model(case_named("busy-13"), {"adaptive", 0}).run();
  CHECK(busy.goodput > 0.95);
  CHECK(busy.p99 < 4);
  for (const char* name : {"one-pauses", "one-slow"}) {
    CAPTURE(name);
    const RunResult run = Model(case_named(name), {"adaptive", 0}).run();
    CHECK(run.goodput > 0.99);
    CHECK(run.drops == 0);
  }
}

TEST_CASE("adaptive does not know what a host kept where it is not told, and is slower there") {
  RunSettings without;
  without.host_times = false;
  const RunResult untold = Model(case_named("busy-13"), {"adaptive", 0}, without).run();
  const RunResult told = Model(case_named("busy-13"), {"adaptive", 0}).run();
  CHECK(told.goodput > untold.goodput);
}

TEST_CASE("adaptive fills long lines, damaged ones, and near and far ones at once") {
  for (const char* name : {"wan-40ms", "wan-40ms-loss", "near-and-far"}) {
    CAPTURE(name);
    const RunResult run = Model(case_named(name), {"adaptive", 0}).run();
    CHECK(run.goodput > 0.97);
    CHECK(run.drops < 20);
  }
}

TEST_CASE("adaptive follows a port that changes, and shares one with another farm") {
  for (const char* name : {"port-changes", "two-farms"}) {
    CAPTURE(name);
    const RunResult run = Model(case_named(name), {"adaptive", 0}).run();
    CHECK(run.goodput > 0.99);
    CHECK(run.drops == 0);
  }
  CHECK(Model(case_named("all-to-all-6x2"), {"adaptive", 0}).run().goodput > 0.88);
}

}  // namespace weir::shaper_model
