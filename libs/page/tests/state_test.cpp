#include "weir_catch.hpp"
#include <weir/page/state.hpp>
#include <weir/v1/control.pb.h>

using namespace weir;
using namespace weir::page;

TEST_CASE("every level is known by its name, and no other") {
  for (const auto level :
       {LogLevel::trace, LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error}) {
    CHECK(log_level(name(level)) == level);
  }
  CHECK(!log_level("warn"));
}

TEST_CASE("a run's account becomes its line in the history") {
  v1::RunSummary summary;
  summary.set_run(7);
  summary.set_balanced(true);
  summary.set_faults(true);
  summary.set_begin_utc_ns(5);
  summary.set_duration_ns(9);
  summary.set_reason("all triggers made");
  auto& counters = *summary.mutable_counters();
  counters["triggered"] = 100;
  counters["stored"] = 10;
  counters["rejected"] = 85;
  counters["discarded.drain_timeout"] = 3;
  counters["discarded.attempts_exhausted"] = 2;
  auto* equation = summary.add_equations();
  equation->set_name("slices");
  equation->set_left("100 #77");
  equation->set_right("100 #78");
  auto* same = summary.add_equations();
  same->set_left("5 #6");
  same->set_right("5 #6");
  same->set_good(true);
  const RunEntry entry = run_entry(summary);
  CHECK(entry.number == 7);
  CHECK(entry.triggered == 100);
  CHECK(entry.discarded == 5);
  CHECK(entry.balanced);
  CHECK(entry.faults);
  CHECK(entry.reason == "all triggers made");
  const auto lines = ledger_lines(summary);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].name == "slices");
  CHECK(!lines[0].good);
  CHECK(lines[0].left == "100");
  CHECK(lines[0].note == "not the same ids");
  CHECK(lines[1].note == "same ids");
}
