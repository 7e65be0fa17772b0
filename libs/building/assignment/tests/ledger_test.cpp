#include "weir_catch.hpp"
#include <weir/assignment/ledger.hpp>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr std::size_t index_of(DiscardReason reason) { return static_cast<std::size_t>(reason); }

// Ten slices: 0 to 4 stored, 5 to 8 rejected, 9 discarded by its DCM.
struct Run {
  SupervisorLedger supervisor;
  std::vector<DcmLedger> dcms{2};
  std::vector<WriterLedger> writers{1};
  std::vector<ReadoutLedger> readouts{1};
  std::vector<Fault> faults;

  Run() {
    supervisor.offered = 12;
    supervisor.vetoed[static_cast<std::size_t>(VetoReason::throttled)] = 2;
    supervisor.assignments = 10;
    for (std::uint64_t i = 0; i < 10; ++i) {
      const SliceId slice(i);
      DcmLedger& dcm = dcms[i % 2];
      supervisor.triggered.add(slice);
      ++dcm.assigned;
      if (i < 5) {
        supervisor.stored.add(slice);
        writers[0].live.add(slice);
        dcm.stored.add(slice);
      } else if (i < 9) {
        supervisor.rejected.add(slice);
        dcm.rejected.add(slice);
      } else {
        supervisor.discarded[index_of(DiscardReason::deadline)].add(slice);
        dcm.discarded.add(slice);
      }
    }
    dcms[1].index = NodeIndex(1);
    dcms[0].requested = 100;
    dcms[0].received = 90;
    dcms[0].missing[static_cast<std::size_t>(MissingReason::deadline)] = 7;
    dcms[0].cancelled = 3;
    readouts[0].produced = 50;
    readouts[0].cleared = 45;
    readouts[0].dropped = {{"buffer_full", 3}};
    readouts[0].held = 2;
  }
  LedgerResult result() const { return reconcile(supervisor, dcms, writers, readouts, faults); }
};

std::string wrong(const LedgerResult& result) {
  std::string names;
  for (const Equation& equation : result.equations) {
    if (!equation.ok) names += (names.empty() ? "" : "; ") + equation.name;
  }
  return names;
}

}  // namespace

TEST_CASE("a run in which all counts agree balances") {
  const LedgerResult result = Run().result();
  CHECK(wrong(result) == "");
  CHECK(result.status() == LedgerStatus::balanced);
  CHECK(result.equations.size() == 11);
}

TEST_CASE("the ledger's line for the disk gives the number of files compared and of copies lost") {
  Run run;
  const auto line = [&run] {
    const LedgerResult result = run.result();
    for (const Equation& equation : result.equations) {
      if (equation.name == "slices: stored = live on disk") return equation;
    }
    return Equation();
  };
  run.writers[0].files_compared = 7;
  CHECK(line().ok);
  CHECK(line().note == "size, name and index of 7 files read back");
  run.writers[0].files_left = 2;
  CHECK_THAT(line().note, Catch::ContainsSubstring("2 of them moved away after on_close"));
  run.writers[0].live.remove(SliceId(3));
  run.writers[0].lost = 1;
  CHECK_FALSE(line().ok);
  CHECK_THAT(line().note, Catch::ContainsSubstring("1 of writer-0 vanished from disk"));
}

TEST_CASE("a slice that one side counted and the other did not unbalances exactly that equation") {
  Run run;
  run.writers[0].live.remove(SliceId(3));
  CHECK(wrong(run.result()) == "slices: stored = live on disk");
  run = Run();
  run.dcms[0].rejected.remove(SliceId(6));
  CHECK(wrong(run.result()) == "slices: rejected by DCMs, rejected");
  run = Run();
  run.dcms[0].discarded.add(SliceId(77));
  CHECK(wrong(run.result()) == "slices: discarded by DCMs, discarded");
  run = Run();
  run.dcms[1].stored.add(SliceId(77));
  CHECK(wrong(run.result()) == "slices: acknowledged to DCMs, stored");
  run = Run();
  ++run.supervisor.offered;
  CHECK(wrong(run.result()) == "triggers: offered = triggered + vetoed");
  run = Run();
  run.supervisor.open = 1;
  CHECK(wrong(run.result()) == "slices: none left open");
  run = Run();
  ++run.supervisor.assignments;
  CHECK(wrong(run.result()) == "slices: received by DCMs, assigned");
  run = Run();
  --run.dcms[0].received;
  CHECK(wrong(run.result()) == "fragments: dcm-0: received + missing + cancelled, requested");
  run = Run();
  --run.readouts[0].held;
  CHECK(wrong(run.result()) == "fragments: readout-0: produced = cleared + dropped + held");
  CHECK(run.result().status() == LedgerStatus::unbalanced);
}

TEST_CASE("the right number of slices with wrong ids does not balance") {
  Run run;
  run.writers[0].live.remove(SliceId(3));
  run.writers[0].live.add(SliceId(8));
  const LedgerResult result = run.result();
  CHECK(wrong(result) == "slices: stored = live on disk");
  CHECK_THAT(format_ledger(result), Catch::ContainsSubstring("WRONG  (as many, but not the same slices)"));
}

TEST_CASE("if a DCM died its equations become bounds, and the run balances with faults") {
  Run run;
  run.faults.push_back({FaultKind::left, Role::dcm, NodeIndex(0), Incarnation(1), 0, 2});
  run.dcms.erase(run.dcms.begin());
  CHECK(wrong(run.result()) == "");
  CHECK(run.result().status() == LedgerStatus::balanced_with_faults);
  run.dcms[0].rejected.count += 10;  // more than the supervisor ever confirmed
  CHECK(wrong(run.result()) == "slices: rejected by DCMs, rejected");
}

TEST_CASE("lost slices are a fault of the run, slices that the farm file does not want are not") {
  const auto [reason, fault] = GENERATE(table<DiscardReason, bool>({{DiscardReason::too_large, true},
                                                                    {DiscardReason::writer_refused, true},
                                                                    {DiscardReason::drain_timeout, true},
                                                                    {DiscardReason::no_writer, false},
                                                                    {DiscardReason::deadline, false}}));
  CAPTURE(name(reason));
  SupervisorLedger ledger;
  ledger.discarded[static_cast<std::size_t>(reason)].add(SliceId(4));
  const auto losses = describe_losses(ledger);
  CHECK(losses.size() == (fault ? 1 : 0));
  if (fault) CHECK(losses[0] == "1 slice discarded: " + std::string(name(reason)));
  CHECK(reconcile(ledger, {}, {}, {}, {}).faults == fault);
}

TEST_CASE("records that writers refused are a fault, whatever happened to their slices") {
  Run run;
  CHECK(run.result().status() == LedgerStatus::balanced);
  run.supervisor.records_refused = 2;
  CHECK(run.result().status() == LedgerStatus::balanced_with_faults);
  CHECK(describe_losses(run.supervisor) ==
        std::vector<std::string>{"2 records refused by writers: the slices were rebuilt or discarded"});
}

TEST_CASE("a last report of a dead DCM may leave requests open, and a final one may not") {
  Run run;
  run.dcms[0].received = 10;
  run.dcms[0].final = false;
  CHECK(wrong(run.result()) == "");
  CHECK(run.result().status() == LedgerStatus::balanced_with_faults);
  run.dcms[0].final = true;
  CHECK(wrong(run.result()) == "fragments: dcm-0: received + missing + cancelled, requested");
}

TEST_CASE("the slices on disk must match exactly, whatever died and restarted") {
  Run run;
  run.faults.push_back({FaultKind::left, Role::dcm, NodeIndex(0), Incarnation(1), 0, 2});
  run.faults.push_back({FaultKind::left, Role::writer, NodeIndex(0), Incarnation(1), 0, 2});
  CHECK(wrong(run.result()) == "");
  run.writers[0].live.remove(SliceId(0));
  CHECK_THAT(wrong(run.result()), Catch::ContainsSubstring("slices: stored = live on disk"));
}

TEST_CASE("for a writer lost for good the acknowledged slices count, and the ledger reports it") {
  Run run;
  run.supervisor.stored_by = {run.supervisor.stored};
  run.faults.push_back({FaultKind::left, Role::writer, NodeIndex(0), Incarnation(1), 0, 2});
  run.writers[0].final = false;
  run.writers[0].live = {};
  run.writers[0].name = "store-a";
  const LedgerResult result = run.result();
  CHECK(wrong(result) == "");
  CHECK(result.status() == LedgerStatus::balanced_with_faults);
  CHECK_THAT(
      format_ledger(result),
      Catch::ContainsSubstring("slices: stored = live on disk + acknowledged by lost writers ") &&
          Catch::ContainsSubstring("0 slices counted on disk; 5 slices only acknowledged, by store-a, "
                                   "which was lost: its files were not read back"));
  run.supervisor.stored_by[0].remove(SliceId(1));
  CHECK_THAT(wrong(run.result()), Catch::ContainsSubstring("slices: stored = live on disk"));
}

TEST_CASE("dead copies on disk explain acknowledgements beyond the stored slices") {
  Run run;
  run.dcms[0].stored.add(SliceId(2));  // once for each copy
  run.writers[0].dead = 1;
  CHECK(wrong(run.result()) == "");
  run.writers[0].dead = 0;
  CHECK(wrong(run.result()) == "slices: acknowledged to DCMs, stored");
}

TEST_CASE("copies that a lost writer may have explain acknowledgements beyond the stored slices") {
  Run run;
  run.writers.resize(2);
  run.writers[1].index = NodeIndex(1);
  run.writers[1].final = false;
  run.supervisor.stored_by = {run.supervisor.stored, {}};
  run.supervisor.restarts = 1;
  run.dcms[0].stored.add(SliceId(2));  // by the lost writer as well
  CHECK(wrong(run.result()) == "slices: acknowledged to DCMs, on disk");
  run.writers[1].given_up = 1;
  CHECK(wrong(run.result()) == "");
  CHECK_THAT(format_ledger(run.result()), Catch::ContainsSubstring("up to 1 copies that do not count"));
}

TEST_CASE("acknowledgements that a DCM missed before it ended make its equation a bound") {
  Run run;
  run.dcms[0].stored.remove(SliceId(2));
  CHECK(wrong(run.result()) == "slices: acknowledged to DCMs, stored");
  run.dcms[0].unheard = 1;
  CHECK(wrong(run.result()) == "");
  CHECK(run.result().balanced);
}

TEST_CASE("a stalled DCM that answered in the end leaves all equations exact") {
  Run run;
  run.faults.push_back({FaultKind::stalled, Role::dcm, NodeIndex(0), Incarnation(1), 0, 1});
  for (const Equation& equation : run.result().equations)
    CHECK(equation.relation == Equation::Relation::equal);
  CHECK(run.result().status() == LedgerStatus::balanced_with_faults);
}

TEST_CASE("the ledger is printed as an aligned table with its verdict") {
  const std::string text = format_ledger(Run().result());
  CHECK_THAT(text,
             Catch::ContainsSubstring("offered = triggered + vetoed                        12 =   12  ok\n"));
  CHECK_THAT(text, Catch::ContainsSubstring(" 5 =    5  ok, same ids\n"));
  CHECK_THAT(text, Catch::ContainsSubstring("The ledger balances.\n"));
}

TEST_CASE("every reason has a unique name, and is found by it") {
  for (std::size_t i = 1; i < kDiscardReasons; ++i) {
    const auto reason = static_cast<DiscardReason>(i);
    CHECK(discard_reason(name(reason)) == reason);
  }
  CHECK(discard_reason("none") == DiscardReason::unspecified);
  CHECK(discard_reason("???") == DiscardReason::unspecified);
  CHECK(name(VetoReason::stalled) == "stalled");
  CHECK(name(static_cast<VetoReason>(200)) == "unknown");
}

TEST_CASE("fragments that DCMs sent each other have arrived, unless an attempt or a connection ended early") {
  Run run;
  run.dcms[0].fetch_sent = 40;
  run.dcms[1].fetch_arrived = 40;
  CHECK(wrong(run.result()) == "");
  run.dcms[1].fetch_arrived = 39;
  CHECK(wrong(run.result()) == "fragments: received from DCMs, sent by DCMs");
  run.dcms[1].fetch_broken = 1;
  CHECK(wrong(run.result()) == "");
  run.dcms[1].fetch_arrived = 41;  // more than anyone sent
  CHECK(wrong(run.result()) == "fragments: received from DCMs, sent by DCMs");
  run.dcms[1].fetch_arrived = 39;
  run.dcms[1].fetch_broken = 0;
  run.supervisor.groups.resize(1);
  run.supervisor.groups[0].stored = run.supervisor.stored;
  run.supervisor.groups[0].rejected = run.supervisor.rejected;
  run.supervisor.groups[0].discarded = run.supervisor.discarded_total();
  run.supervisor.groups[0].reassigned = 1;
  CHECK(wrong(run.result()) == "");
}
