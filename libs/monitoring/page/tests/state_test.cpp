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

TEST_CASE("of a run's account two sums that differ in their ids alone are told apart from equal ones") {
  v1::RunSummary summary;
  auto* equation = summary.add_equations();
  equation->set_name("slices");
  equation->set_left("100 #77");
  equation->set_right("100 #78");
  auto* same = summary.add_equations();
  same->set_left("5 #6");
  same->set_right("5 #6");
  same->set_good(true);
  const auto lines = ledger_lines(summary);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].name == "slices");
  CHECK(!lines[0].good);
  CHECK(lines[0].left == "100");
  CHECK(lines[0].note == "different ids");
  CHECK(lines[1].note == "same ids");
}
