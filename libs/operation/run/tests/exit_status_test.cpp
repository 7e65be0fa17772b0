#include "weir_catch.hpp"
#include <weir/run/exit_status.hpp>

namespace weir::run {
namespace {

RunEnd good_end() {
  RunEnd end;
  end.has_summary = true;
  end.balanced = true;
  return end;
}

TEST_CASE("a run with a balanced ledger and good exit statuses has status 0, and no explanation") {
  CHECK(exit_status(good_end()) == 0);
  CHECK(explain(good_end()).empty());
}

TEST_CASE("a run that survived faults has status 3") {
  RunEnd end = good_end();
  end.faults = true;
  CHECK(exit_status(end) == 3);
  CHECK(explain(end) == "the ledger balances, with faults survived");
}

TEST_CASE("a process that did not end well makes status 3 of a good run") {
  RunEnd end = good_end();
  end.processes_well = false;
  CHECK(exit_status(end) == 3);
  CHECK(explain(end) == "the ledger balances, but a process did not end well");
}

TEST_CASE("a ledger that does not balance causes status 1, regardless of other results") {
  RunEnd end = good_end();
  end.balanced = false;
  end.faults = GENERATE(false, true);
  CHECK(exit_status(end) == 1);
  CHECK(explain(end) == "the ledger does not balance");
}

TEST_CASE("a run without the supervisor's account has status 1") {
  CHECK(exit_status(RunEnd{}) == 1);
  CHECK(explain(RunEnd{}) == "the supervisor sent no account of the run");
}

TEST_CASE("an abandoned run has status 1 with the reason, even if its ledger balances") {
  RunEnd end = good_end();
  end.failure = "no writer is left";
  CHECK(exit_status(end) == 1);
  CHECK(explain(end) == "no writer is left");
}

}  // namespace
}  // namespace weir::run
