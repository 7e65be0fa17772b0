#include "model_farm.hpp"
#include "weir_catch.hpp"

#include <algorithm>

using namespace weir;
using namespace weir::assignment;
using namespace weir::assignment::test;

namespace {

constexpr DurationNs kSettle = 400 * kMillisecond;
constexpr DurationNs kGrace = 2 * kSecond;

SupervisorSettings settings() {
  SupervisorSettings settings = small_farm();
  settings.dcms = 2;
  settings.lease_ns = 100 * kSecond;
  settings.reach = {kSettle, kGrace, kSecond};
  return settings;
}

TriggerSettings as_fast_as_there_is_room() {
  TriggerSettings triggers;
  triggers.mode = "max";
  return triggers;
}

// Two DCMs of four credits each, two readouts and two writers; both DCMs have reported full reach.
struct ReachFarm : Farm {
  explicit ReachFarm(const SupervisorSettings& settings = ::settings(),
                     const TriggerSettings& triggers = as_fast_as_there_is_room())
      : Farm(settings, triggers) {
    for (std::uint16_t i = 0; i < 2; ++i) {
      machine.readout_joined(node(i), Incarnation(1), now.mono);
      join_writer(i);
      join_dcm(i, 4);
      says(i, {});
    }
  }
  void says(std::uint16_t dcm, const std::vector<std::uint16_t>& readouts,
            const std::vector<std::uint16_t>& writers = {}) {
    std::vector<NodeIndex> lost[2];
    for (const std::uint16_t each : readouts) lost[0].push_back(node(each));
    for (const std::uint16_t each : writers) lost[1].push_back(node(each));
    machine.reach(node(dcm), lost[0], lost[1], now.mono);
  }
  Actions after(DurationNs ns) {
    advance(ns);
    return pass();
  }
  std::size_t given_to(const Actions& done, std::uint16_t dcm) {
    return dcm < done.dcms.size() ? done.dcms[dcm].assign.size() : 0;
  }
  // As in the run's record.
  std::vector<std::string> faults() {
    std::vector<std::string> texts;
    for (const Fault& fault : machine.faults()) {
      if (fault.counts()) texts.push_back(describe_in_record(fault, fault.at, plain_name));
    }
    return texts;
  }
  std::vector<std::string> events() {
    std::vector<std::string> texts;
    for (const Fault& fault : machine.faults()) texts.push_back(describe(fault, plain_name));
    return texts;
  }
  bool counts_as_faulty() { return reconcile(machine.ledger(), {}, {}, {}, machine.faults()).faults; }
};

bool contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

TEST_CASE("a DCM that is cut off gets no slices, and slices that it returns go to another, without blame") {
  ReachFarm farm;
  const Actions begin = farm.pass();
  REQUIRE(farm.given_to(begin, 0) == 4);
  REQUIRE(farm.given_to(begin, 1) == 4);
  farm.says(1, {0, 1});
  farm.pass();
  const Actions verdict = farm.after(kSettle);
  CHECK(verdict.judged == std::vector{node(1)});
  CHECK(farm.machine.reach().is_cut_off(node(1)));
  CHECK(contains(farm.events(), "dcm-1 does not reach readout-0, readout-1: it gets no slices"));
  CHECK(farm.faults().empty());

  for (const Assignment& one : begin.dcms[1].assign)
    farm.decide(1, one.slice.value, 0, Verdict::failed, DiscardReason::unreachable);
  Actions after = farm.pass();
  CHECK(farm.given_to(after, 1) == 0);
  for (const Confirmation& one : after.dcms[1].confirm) CHECK(one.answer == Answer::refused);
  CHECK(farm.machine.ledger().handed_back == 4);
  CHECK(farm.faults() ==
        std::vector<std::string>{"dcm-1 did not reach readout-0, readout-1: its slices went to others"});
  CHECK(farm.counts_as_faulty());
  CHECK(farm.machine.dcms()[1].credits_free == 0);

  for (const Assignment& one : begin.dcms[0].assign) farm.decide(0, one.slice.value, 0, Verdict::reject);
  after = farm.pass();
  REQUIRE(farm.given_to(after, 0) == 4);
  for (const Assignment& one : after.dcms[0].assign) {
    CHECK(one.attempt == Attempt(1));
    CHECK(one.kills == 0);
    CHECK_FALSE(one.unfiltered);
  }
  CHECK(farm.machine.broken_invariant().empty());
}

TEST_CASE("a slice that is handed back any number of times is neither poison nor discarded") {
  ReachFarm farm;
  std::uint16_t attempt = 0;
  Actions done = farm.pass();
  const SliceId slice = done.dcms[0].assign.front().slice;
  for (int i = 0; i < 40; ++i) {
    farm.decide(0, slice.value, attempt++, Verdict::failed, DiscardReason::unreachable);
    done = farm.pass();
    REQUIRE(farm.given_to(done, 0) == 1);
    CHECK(done.dcms[0].assign.front().slice == slice);
    CHECK_FALSE(done.dcms[0].assign.front().unfiltered);
  }
  CHECK(farm.machine.ledger().discarded_total().count == 0);
}

TEST_CASE("a DCM that reaches its readouts again gets slices with all its credits, and is reported") {
  ReachFarm farm;
  const Actions begun = farm.pass();
  REQUIRE(farm.given_to(begun, 1) > 0);
  farm.says(1, {0});
  farm.after(0);
  farm.after(kSettle);
  REQUIRE(farm.machine.reach().is_cut_off(node(1)));
  const auto slices = farm.machine.in_flight();
  farm.decide(1, begun.dcms[1].assign.front().slice.value, 0, Verdict::failed, DiscardReason::unreachable);
  farm.says(1, {});
  farm.after(0);
  const Actions done = farm.after(kSecond);
  CHECK_FALSE(farm.machine.reach().is_cut_off(node(1)));
  CHECK(done.judged == std::vector{node(1)});
  CHECK(farm.given_to(done, 1) == 1);
  CHECK(farm.machine.in_flight() >= slices);
  CHECK(contains(farm.faults(), "dcm-1 got slices again: 1 slice built by others meanwhile"));
  CHECK(farm.machine.broken_invariant().empty());
}

TEST_CASE("an outage that moves no slice is an event, and not a fault of the run") {
  ReachFarm farm;
  farm.pass();
  for (int i = 0; i < 3; ++i) {
    farm.says(1, {0}, {1});
    farm.after(0);
    farm.after(kGrace);
    REQUIRE(farm.machine.reach().is_cut_off(node(1)));
    farm.says(1, {});
    farm.after(0);
    farm.after(kSecond);
    REQUIRE_FALSE(farm.machine.reach().is_cut_off(node(1)));
  }
  CHECK(contains(farm.events(), "dcm-1 does not reach readout-0: it gets no slices"));
  CHECK(contains(farm.events(), "dcm-1 gets slices again: 0 slices built by others meanwhile"));
  CHECK(contains(farm.events(), "dcm-1 does not reach writer-1: 0 slices stored elsewhere"));
  CHECK(farm.faults().empty());
  CHECK_FALSE(farm.counts_as_faulty());
}

TEST_CASE("a readout that no DCM reaches is named once, and no DCM is cut off") {
  ReachFarm farm;
  farm.pass();
  farm.says(0, {1});
  farm.says(1, {1});
  farm.after(0);
  const Actions done = farm.after(kGrace);
  CHECK(done.judged.size() == 2);
  CHECK(farm.machine.reach().missing(node(0)).size() == 1);
  CHECK(farm.events() ==
        std::vector<std::string>{"readout-1 is reached by no DCM: its fragments are missing"});
  REQUIRE(farm.faults().size() == 1);
  const std::string begun = farm.faults()[0];
  CHECK(begun.starts_with("readout-1's fragments are missing: it was reached by no DCM from "));
  CHECK(begun.ends_with(" UTC"));
  farm.says(0, {});
  farm.says(1, {});
  farm.after(0);
  farm.after(kSecond);
  CHECK(farm.events().back() == "readout-1 is reached again after 2.00 s");
  CHECK(farm.faults() == std::vector<std::string>{begun, begun + " for 2.00 s"});
}

TEST_CASE("a dead readout is reported when it leaves, and not again when no DCM reaches it") {
  ReachFarm farm;
  farm.pass();
  farm.machine.readout_left(node(1), farm.now.mono);
  farm.says(0, {1});
  farm.says(1, {1});
  farm.after(0);
  farm.after(kGrace);
  CHECK(farm.machine.reach().is_down(node(1)));
  CHECK(farm.faults().size() == 1);
  farm.machine.readout_joined(node(1), Incarnation(2), farm.now.mono);
  farm.says(0, {});
  farm.says(1, {});
  farm.after(0);
  farm.after(kSecond);
  CHECK(farm.faults().size() == 1);
}

TEST_CASE("if each DCM has lost another readout both continue, and the missing readouts are named") {
  ReachFarm farm;
  farm.pass();
  farm.says(0, {0});
  farm.says(1, {1});
  farm.after(0);
  farm.after(kGrace);
  CHECK_FALSE(farm.machine.reach().is_cut_off(node(0)));
  CHECK_FALSE(farm.machine.reach().is_cut_off(node(1)));
  CHECK(contains(farm.faults(),
                 "dcm-0 did not reach readout-0, and no DCM reached more: their fragments are "
                 "missing in its slices"));
  CHECK(farm.faults().size() == 2);
}

TEST_CASE("if the best connected DCM dies, the one that was cut off continues") {
  ReachFarm farm;
  const Actions begin = farm.pass();
  farm.says(1, {0});
  farm.after(0);
  farm.after(kSettle);
  for (const Assignment& one : begin.dcms[1].assign)
    farm.decide(1, one.slice.value, 0, Verdict::failed, DiscardReason::unreachable);
  farm.pass();
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions);
  const Actions done = farm.pass();
  CHECK(farm.given_to(done, 1) == 4);
  CHECK(farm.machine.broken_invariant().empty());
}

TEST_CASE("run control removes a cut-off DCM and adds it again, and no credit is lost") {
  ReachFarm farm;
  farm.pass();
  farm.says(1, {0});
  farm.after(0);
  farm.after(kSettle);
  farm.machine.remove({Role::dcm, node(1)}, farm.now.mono);
  farm.after(kMillisecond);
  farm.machine.add({Role::dcm, node(1)}, farm.now.mono, farm.actions);
  farm.after(kMillisecond);
  CHECK(farm.machine.dcms()[1].credits_free == 0);
  CHECK(farm.machine.broken_invariant().empty());
  farm.says(1, {});
  farm.after(0);
  farm.after(kSecond);
  CHECK_FALSE(farm.machine.reach().is_cut_off(node(1)));
  CHECK(farm.machine.broken_invariant().empty());
}

TEST_CASE("in push runs a DCM that is cut off leaves the table of destinations, and returns in a later one") {
  SupervisorSettings push = settings();
  push.push = true;
  ReachFarm farm(push);
  farm.pass();
  const auto last = [&] { return farm.machine.destinations().epochs().back(); };
  REQUIRE(last().dcms.size() == 2);
  farm.says(1, {0});
  farm.after(0);
  farm.after(kSettle);
  CHECK(last().dcms == std::vector{node(0)});
  farm.says(1, {});
  farm.after(0);
  farm.after(kSecond);
  CHECK(last().dcms.size() == 2);
}

TEST_CASE("slices confirmed to a writer that their DCM does not reach go to another, at a higher epoch") {
  ReachFarm farm;
  const Actions begin = farm.pass();
  for (const Assignment& one : begin.dcms[0].assign) farm.decide(0, one.slice.value, 0, Verdict::accept);
  const Actions confirmed = farm.pass();
  farm.says(0, {}, {0});
  farm.after(0);
  const Actions moved = farm.after(kGrace);
  std::size_t again = 0;
  for (const Confirmation& one : moved.dcms[0].confirm) {
    CHECK(one.answer == Answer::store);
    CHECK(one.writer == node(1));
    CHECK(one.epoch == StoreEpoch(1));
    ++again;
  }
  CHECK(again == 2);  // of four, round robin
  CHECK(contains(farm.faults(), "dcm-0 did not reach writer-0: 2 slices stored elsewhere"));
  // It gets no more confirmations for that writer; the other DCM continues with both.
  for (const Assignment& one : moved.dcms[0].assign) farm.decide(0, one.slice.value, 0, Verdict::accept);
  for (const Assignment& one : begin.dcms[1].assign) farm.decide(1, one.slice.value, 0, Verdict::accept);
  const Actions next = farm.pass();
  for (const Confirmation& one : next.dcms[0].confirm) CHECK(one.writer == node(1));
  CHECK(std::any_of(next.dcms[1].confirm.begin(), next.dcms[1].confirm.end(),
                    [](const Confirmation& one) { return one.writer == node(0); }));
  CHECK(farm.machine.broken_invariant().empty());
}

TEST_CASE("with a single writer a DCM's unsendable slices wait for it") {
  SupervisorSettings one_writer = settings();
  one_writer.writers = 1;
  Farm farm(one_writer, as_fast_as_there_is_room());
  farm.join_writer(0);
  farm.join_dcm(0, 1);
  const Actions begin = farm.pass();
  farm.decide(0, begin.dcms[0].assign.front().slice.value, 0, Verdict::accept);
  farm.pass();
  const NodeIndex lost = node(0);
  farm.machine.reach(node(0), {}, {&lost, 1}, farm.now.mono);
  farm.pass();
  farm.advance(kGrace);
  const Actions done = farm.pass();
  CHECK((done.dcms.empty() || done.dcms[0].confirm.empty()));
  CHECK(farm.machine.ledger().reconfirmed == 0);
}
