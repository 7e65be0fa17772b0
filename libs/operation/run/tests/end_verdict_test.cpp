#include "weir_catch.hpp"
#include <weir/run/end_verdict.hpp>

using namespace weir::run;

namespace {

EndFacts died() { return {}; }

EndFacts ended_well() {
  EndFacts facts;
  facts.well = true;
  return facts;
}

}  // namespace

TEST_CASE("a process that ends during a run is missing, whatever its status") {
  CHECK(verdict_of(died()) == EndVerdict::start_again);
  EndFacts well = ended_well();
  CHECK(verdict_of(well) == EndVerdict::look);
  well.looked = true;
  CHECK(verdict_of(well) == EndVerdict::start_again);
}

TEST_CASE("a process that ended on request is not missing, in either order of the messages") {
  EndFacts facts = ended_well();
  REQUIRE(verdict_of(facts) == EndVerdict::look);  // its end arrives first
  SECTION("the run is over") { facts.run_over = true; }
  SECTION("an operator has taken it out") { facts.taken_out = true; }
  CHECK(verdict_of(facts) == EndVerdict::told);
  facts.looked = true;
  CHECK(verdict_of(facts) == EndVerdict::told);
}

TEST_CASE("a process that dies when every slice is settled is no longer needed") {
  EndFacts facts = died();
  facts.run_over = true;
  CHECK(verdict_of(facts) == EndVerdict::stays_away);
  facts.run_over = false;
  facts.taken_out = true;  // removed, and died before it had drained
  CHECK(verdict_of(facts) == EndVerdict::start_again);
}

TEST_CASE("without run control no process is led into the run, and one that ends is not restarted") {
  EndFacts facts = died();
  facts.led = false;
  CHECK(verdict_of(facts) == EndVerdict::stays_away);
  facts.well = facts.looked = true;
  CHECK(verdict_of(facts) == EndVerdict::stays_away);
}

TEST_CASE("a supervisor that dies before its account has arrived is restarted, even late in the drain") {
  EndFacts facts = died();
  facts.supervisor = true;
  CHECK(verdict_of(facts) == EndVerdict::start_again);
  facts.run_over = true;  // it was collecting final reports
  CHECK(verdict_of(facts) == EndVerdict::start_again);
  SECTION("without its journal it cannot go on") { facts.journal = false; }
  SECTION("without run control it cannot be led back") { facts.led = false; }
  CHECK(verdict_of(facts) == EndVerdict::run_fails);
}
