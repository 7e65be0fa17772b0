#include "../src/roster.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::supervisor;

namespace {

// Two DCMs and a readout of which everyone has joined.
Roster farm() {
  Roster roster;
  roster.plan(Role::dcm, NodeIndex(0), "dcm-0", "");
  roster.plan(Role::dcm, NodeIndex(1), "dcm-1", "");
  roster.plan(Role::readout, NodeIndex(0), "readout-0", "");
  for (RosterMember& member : roster.members()) {
    member.was_there = true;
    member.incarnation = Incarnation(1);
  }
  return roster;
}

void report(Roster& roster, const std::string& name, std::uint64_t requested, std::uint64_t missing,
            bool final = false) {
  RosterMember& member = *roster.find(name);
  v1::Report& last = member.report;
  last.Clear();
  last.set_name(name);
  last.set_role(static_cast<v1::Role>(member.role));
  last.set_index(member.index.value);
  last.set_incarnation(member.incarnation.value);
  last.set_final(final);
  auto& counters = *last.mutable_counters();
  counters["fragments.requested"] = requested;
  counters["fragments.received"] = requested - missing;
  counters["fragments.missing.source_down"] = missing;
  member.has_report = true;
}

void start_anew(Roster& roster, const std::string& name) {
  RosterMember& member = *roster.find(name);
  roster.bury(member);
  member.incarnation = member.incarnation.next();
}

}  // namespace

TEST_CASE("the farm's totals keep the last reports of dead processes, marked as lower bounds") {
  Roster roster = farm();
  report(roster, "dcm-0", 10'000, 2088);
  report(roster, "dcm-1", 5000, 12);
  CHECK(roster.totals().missing.at("source_down") == 2100);
  CHECK(roster.totals().dcms_lost == 0);
  start_anew(roster, "dcm-0");
  CHECK(roster.totals().missing.at("source_down") == 2100);
  CHECK(roster.totals().dcms_lost == 1);
  report(roster, "dcm-0", 100, 0);
  CHECK(roster.totals().requested == 15'100);
  CHECK(roster.totals().received == 13'000);
  CHECK(roster.totals().missing.at("source_down") == 2100);
  // The ledger takes the same.
  std::uint64_t missing = 0;
  for (const assignment::DcmLedger& dcm : ledger_input(roster).dcms) {
    for (const std::uint64_t count : dcm.missing) missing += count;
  }
  CHECK(missing == 2100);
}

TEST_CASE("a million rows of dead processes' sources are kept, and further ones are known to be forgotten") {
  Roster roster = farm();
  constexpr int kRows = 1000;
  for (int life = 0; life < 1001; ++life) {
    report(roster, "dcm-0", 10, 0);
    for (int i = 0; i < kRows; ++i) roster.find("dcm-0")->report.mutable_sources()->add_source(1);
    CHECK(roster.forgot_sources() == false);
    start_anew(roster, "dcm-0");
  }
  CHECK(roster.forgot_sources());
  CHECK(roster.buried().front().sources().source_size() == kRows);
  CHECK(roster.buried().back().sources().source_size() == 0);
}

TEST_CASE("a process counts once in the farm's totals after its connection broke") {
  Roster roster = farm();
  report(roster, "dcm-0", 100, 7);
  RosterMember& member = *roster.find("dcm-0");
  roster.bury(member);
  roster.unbury(member);
  report(roster, "dcm-0", 120, 8);
  CHECK(roster.totals().missing.at("source_down") == 8);
  CHECK(roster.totals().dcms_lost == 0);
}

TEST_CASE(
    "a process that reconnects and dies before its next report keeps its last one in the farm's totals") {
  Roster roster = farm();
  report(roster, "dcm-0", 100, 7);
  RosterMember& member = *roster.find("dcm-0");
  roster.bury(member);
  roster.unbury(member);
  CHECK(roster.totals().missing.at("source_down") == 7);
  roster.bury(member);
  CHECK(roster.totals().missing.at("source_down") == 7);
  CHECK(roster.totals().dcms_lost == 1);
}

TEST_CASE("a removed DCM's counters are final") {
  Roster roster = farm();
  report(roster, "dcm-0", 100, 7, true);
  start_anew(roster, "dcm-0");
  CHECK(roster.totals().missing.at("source_down") == 7);
  CHECK(roster.totals().dcms_lost == 0);
}

TEST_CASE("counters taken by an earlier supervisor process are in the farm's totals") {
  Roster before = farm();
  report(before, "dcm-0", 100, 7);
  start_anew(before, "dcm-0");
  Roster roster = farm();
  for (RosterMember& member : roster.members()) member.incarnation = Incarnation(2);
  for (int twice = 0; twice < 2; ++twice) roster.recall(before.buried().front());
  CHECK(roster.totals().missing.at("source_down") == 7);
  CHECK(roster.totals().dcms_lost == 1);
}

TEST_CASE("deaths beyond the remembered ones still count in the farm's totals") {
  constexpr std::uint64_t kDeaths = 10'050;
  Roster roster = farm();
  for (std::uint64_t i = 0; i < kDeaths; ++i) {
    report(roster, "dcm-0", 3, 1);
    start_anew(roster, "dcm-0");
  }
  CHECK(roster.buried().size() < kDeaths);
  CHECK(roster.totals().missing.at("source_down") == kDeaths);
  CHECK(roster.totals().dcms_lost == kDeaths);
}
