#include "../src/roster.hpp"

#include "weir_catch.hpp"

using namespace weir;
using supervisor::ledger_input;
using supervisor::Roster;

namespace {

v1::Report report_of(std::uint64_t incarnation, std::uint64_t assigned, bool final) {
  v1::Report report;
  report.set_role(v1::ROLE_DCM);
  report.set_name("dcm-0");
  report.set_incarnation(incarnation);
  report.set_final(final);
  (*report.mutable_counters())["dcm.assigned"] = assigned;
  return report;
}

Roster roster_of(std::uint64_t incarnation) {
  Roster roster;
  roster.plan(Role::dcm, NodeIndex(0), "dcm-0", "");
  roster.members().front().was_there = true;
  roster.members().front().incarnation = Incarnation(incarnation);
  return roster;
}

}  // namespace

TEST_CASE("for each process only the last recorded report counts") {
  for (const bool same_process_was_last : {true, false}) {
    CAPTURE(same_process_was_last);
    Roster roster = roster_of(same_process_was_last ? 5 : 6);
    roster.recall(report_of(5, 10, false));  // its connection broke
    roster.recall(report_of(5, 33, true));
    const auto input = ledger_input(roster);
    REQUIRE(input.dcms.size() == 1);
    CHECK(input.dcms.front().assigned == 33);
    CHECK(input.dcms.front().final);
  }
}

TEST_CASE("reports of two processes of a node both count") {
  Roster roster = roster_of(6);
  roster.recall(report_of(5, 10, false));
  roster.recall(report_of(6, 33, true));
  const auto input = ledger_input(roster);
  REQUIRE(input.dcms.size() == 2);
  CHECK(input.dcms[0].assigned + input.dcms[1].assigned == 43);
}
