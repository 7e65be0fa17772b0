#include "one_slice.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <set>

using namespace weir;
using namespace weir::assignment;
using weir::assignment::test::Farm;
using weir::assignment::test::node;
using weir::assignment::test::one_slice;
using weir::assignment::test::only_assignment;
using weir::assignment::test::only_confirmation;
using weir::assignment::test::small_farm;

namespace {

// No entry for a DCM: nothing was assigned to it.
std::vector<Assignment> assigned(const Actions& actions, std::size_t dcm) {
  return dcm < actions.dcms.size() ? actions.dcms[dcm].assign : std::vector<Assignment>();
}

}  // namespace

TEST_CASE(
    "a slice that was never in a filter when its DCM died is not poison, and is discarded at the limit") {
  SupervisorSettings settings = small_farm();
  settings.attempts_max = 4;
  Farm farm = one_slice(settings);
  std::size_t attempts = 0;
  for (int i = 0; i < 4; ++i) {
    farm.join_dcm(0, 4);  // the one before has died
    const Actions actions = farm.pass();
    if (actions.touched.empty()) continue;
    ++attempts;
    CHECK_FALSE(only_assignment(actions, 0).unfiltered);
    CHECK(only_assignment(actions, 0).suspect);
  }
  CHECK(attempts == 3);
  CHECK(farm.discarded(DiscardReason::attempts_exhausted) == 1);
  CHECK(farm.machine.ledger().unfiltered == 0);
  CHECK(farm.machine.in_flight() == 0);
}

TEST_CASE(
    "of 64 slices with a DCM that died, the one that kills again alone is poison, and the others are "
    "filtered") {
  constexpr std::uint64_t kKiller = 17;
  SupervisorSettings settings = small_farm();
  settings.in_flight_max = settings.pending_max = 64;
  settings.slices_max = 64;
  Farm farm(settings);
  farm.join_writer(0);
  const std::size_t dcms = GENERATE(1, 3);
  CAPTURE(dcms);
  for (std::uint16_t i = 0; i < dcms; ++i) farm.join_dcm(i, 64);
  std::set<std::uint64_t> filtered;
  std::set<std::uint64_t> unfiltered;
  int deaths = 0;
  int passes = 0;
  for (; (passes == 0 || farm.machine.in_flight() > 0) && passes < 1000; ++passes) {
    const Actions actions = farm.pass();
    for (const NodeIndex dcm : actions.touched) {
      const auto& assigned = actions.dcms[dcm.value].assign;
      for (const Confirmation& one : actions.dcms[dcm.value].confirm) {
        if (one.answer == Answer::store) farm.store(0, one.slice.value, one.attempt.value, one.epoch.value);
      }
      const bool dies = std::any_of(assigned.begin(), assigned.end(), [](const Assignment& one) {
        return one.slice.value == kKiller && !one.unfiltered && !one.suspect;
      });
      if (dies) {  // the content of its filter is unknown
        ++deaths;
        farm.machine.dcm_left(dcm, farm.now.mono, farm.actions);
        farm.join_dcm(dcm.value, 64);
        continue;
      }
      for (const Assignment& one : assigned) {
        if (!one.suspect) {
          (one.unfiltered ? unfiltered : filtered).insert(one.slice.value);
          farm.decide(dcm.value, one.slice.value, one.attempt.value, Verdict::accept);
          continue;
        }
        const Lease alone{one.slice, one.attempt};
        farm.machine.filtering(dcm, {{}, alone}, farm.now.mono);
        if (one.slice.value == kKiller) {
          ++deaths;
          farm.machine.dcm_left(dcm, farm.now.mono, farm.actions);
          farm.join_dcm(dcm.value, 64);
          break;
        }
        filtered.insert(one.slice.value);
        farm.decide(dcm.value, one.slice.value, one.attempt.value, Verdict::accept);
        farm.machine.filtering(dcm, {}, farm.now.mono);
      }
    }
    REQUIRE(farm.machine.broken_invariant() == "");
  }
  CHECK(farm.machine.in_flight() == 0);
  CHECK(deaths == 2);
  CHECK(filtered.size() == 63);
  CHECK(unfiltered == std::set<std::uint64_t>{kKiller});
  CHECK(farm.machine.ledger().stored.count == 64);
  CHECK(passes < 2 * 64 + 10);
}

TEST_CASE(
    "a suspect alone in its DCM's filter is to blame for the DCM's death; the other slices are not "
    "suspects") {
  SupervisorSettings settings = small_farm();
  settings.slices_max = 4;
  Farm farm(settings);
  farm.join_dcm(0, 1);
  farm.pass();
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions);
  farm.join_dcm(0, 4);
  const Actions again = farm.pass();
  REQUIRE(again.dcms[0].assign.size() == 4);
  CHECK(std::count_if(again.dcms[0].assign.begin(), again.dcms[0].assign.end(),
                      [](const Assignment& one) { return one.suspect; }) == 1);
  CHECK(again.dcms[0].assign.front().suspect);
  const Lease alone{again.dcms[0].assign.front().slice, again.dcms[0].assign.front().attempt};
  farm.machine.filtering(node(0), {{}, alone}, farm.now.mono);
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions);
  farm.join_dcm(0, 4);
  const Actions third = farm.pass();
  REQUIRE(third.dcms[0].assign.size() == 4);
  for (const Assignment& one : third.dcms[0].assign) {
    CHECK_FALSE(one.suspect);
    CHECK(one.unfiltered == (one.slice == alone.slice));
    CHECK((one.losses == 0 || one.slice == alone.slice));
  }
}

TEST_CASE("a suspect stays a suspect, without a count, if its DCM dies before it reaches the filter") {
  Farm farm = one_slice();
  for (int i = 0; i < 5; ++i) {
    farm.join_dcm(0, 4);
    const Actions actions = farm.pass();
    CHECK(only_assignment(actions, 0).suspect);
    CHECK(only_assignment(actions, 0).kills == 0);
  }
}

TEST_CASE("an expired lease is blamed on a slice that its DCM reported as in the filter, and on no other") {
  SupervisorSettings settings = small_farm();
  settings.slices_max = 3;
  Farm farm(settings);
  farm.join_dcm(0, 3);
  farm.pass();
  farm.join_dcm(1, 3);
  const Lease hangs{SliceId(1), Attempt(0)};
  farm.machine.filtering(node(0), {{hangs}, std::nullopt}, farm.now.mono);
  farm.advance(kSecond);
  const Actions second = farm.pass();
  REQUIRE(second.dcms[1].assign.size() == 3);
  for (const Assignment& one : second.dcms[1].assign) {
    CHECK(one.kills == (one.slice == hangs.slice ? 1 : 0));
    CHECK(one.suspect == (one.slice == hangs.slice));
  }
  farm.join_dcm(2, 3);
  const Lease again{SliceId(1), Attempt(1)};
  farm.machine.filtering(node(1), {{again}, again}, farm.now.mono);
  farm.advance(kSecond);
  const Actions third = farm.pass();
  REQUIRE(third.dcms[2].assign.size() == 3);
  for (const Assignment& one : third.dcms[2].assign) CHECK(one.unfiltered == (one.slice == hangs.slice));
}

TEST_CASE("the oldest suspect goes first, whichever DCM died last") {
  SupervisorSettings settings = small_farm();
  settings.slices_max = settings.pending_max = 4;
  Farm farm(settings);
  farm.join_dcm(0, 2);
  farm.pass();  // slices 0 and 1
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions);
  farm.join_dcm(1, 3);
  farm.pass();  // one of them, and 2 and 3
  farm.machine.dcm_left(node(1), farm.now.mono, farm.actions);
  farm.join_dcm(2, 1);
  for (std::uint64_t slice = 0; slice < 4; ++slice) {
    const auto next = assigned(farm.pass(), 2);
    REQUIRE(next.size() == 1);
    CHECK(next.front().slice == SliceId(slice));
    farm.decide(2, slice, next.front().attempt.value, Verdict::reject);
  }
}

TEST_CASE("slices that wait behind a slow filter keep their lease while their DCM decides") {
  SupervisorSettings settings = small_farm();
  settings.slices_max = settings.pending_max = 8;
  settings.data_ns = kSecond / 10;
  Farm farm(settings);
  farm.join_writer(0);
  farm.join_dcm(0, 8);
  farm.pass();
  farm.join_dcm(1, 8);
  for (std::uint64_t slice = 0; slice < 4; ++slice) {
    farm.advance(kSecond);
    farm.decide(0, slice, 0, Verdict::reject);
    CHECK(assigned(farm.pass(), 1).empty());
  }
  CHECK(farm.machine.ledger().leases_expired == 0);
  // The process is stopped.
  farm.advance(settings.lease_ns + settings.data_ns - 1);
  CHECK(assigned(farm.pass(), 1).empty());
  farm.advance(1);
  (void)farm.pass();
  CHECK(farm.machine.ledger().leases_expired == 4);
}

TEST_CASE("a slice that stays in a filter is taken from its DCM after a lease, even if others pass") {
  SupervisorSettings settings = small_farm();
  settings.slices_max = settings.pending_max = settings.in_flight_max = 20;
  Farm farm(settings);
  farm.join_dcm(0, 20);
  farm.pass();
  farm.join_dcm(1, 20);
  const DurationNs step = settings.lease_ns / 4;
  const auto decide_next = [&farm, step](std::uint64_t slice) {
    farm.advance(step);
    farm.decide(0, slice, 0, Verdict::reject);
    return farm.pass();
  };
  // Slice 19 waits for three leases, and begins then.
  std::uint64_t next = 0;
  while (next < 12) (void)decide_next(next++);
  const FilterNote note{{{SliceId(19), Attempt(0)}}, std::nullopt};
  (void)decide_next(next++);
  (void)decide_next(next++);
  farm.machine.filtering(node(0), note, farm.now.mono);  // half a lease
  CHECK(assigned(decide_next(next++), 1).empty());
  farm.machine.filtering(node(0), note, farm.now.mono);  // said again: it counts from the first time
  const auto lost = assigned(decide_next(next++), 1);
  REQUIRE(lost.size() == 1);
  CHECK(lost.front().slice == SliceId(19));
  CHECK(lost.front().kills == 1);
}

TEST_CASE("a DCM that repeatedly holds the same accept back makes no progress") {
  SupervisorSettings settings = small_farm();
  settings.slices_max = settings.pending_max = 2;
  Farm farm(settings);
  farm.join_dcm(0, 2);
  farm.pass();
  for (int i = 0; i < 4; ++i) {
    farm.decide(0, 0, 0, Verdict::held);
    farm.advance(settings.lease_ns / 2);
    (void)farm.pass();
  }
  CHECK(farm.machine.ledger().leases_expired == 1);
}

TEST_CASE("an accept that is held back keeps its credit, and no lease runs out for it") {
  Farm farm = one_slice();
  farm.join_writer(0);
  farm.decide(0, 0, 0, Verdict::held);
  farm.advance(100 * kSecond);
  CHECK(farm.pass().touched.empty());
  CHECK(farm.machine.dcms()[0].credits_free == 3);
  CHECK(farm.machine.ledger().leases_expired == 0);
  SECTION("its decision comes") {
    farm.decide(0, 0, 0, Verdict::accept);
    CHECK(only_confirmation(farm.pass(), 0).answer == Answer::store);
    CHECK(farm.machine.dcms()[0].credits_free == 4);
  }
  SECTION("its DCM dies") {
    farm.join_dcm(0, 4);
    const Actions again = farm.pass();
    CHECK_FALSE(only_assignment(again, 0).suspect);
    CHECK(only_assignment(again, 0).losses == 0);
  }
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE(
    "a filter that hangs on a suspect holds each slice for one lease at most, and its DCM gets no credit "
    "back") {
  SupervisorSettings settings = small_farm();
  settings.slices_max = 2;
  Farm farm(settings);
  farm.join_dcm(0, 2);
  farm.pass();
  farm.join_dcm(0, 2);
  REQUIRE(farm.pass().dcms[0].assign.size() == 2);  // both suspects
  farm.advance(kSecond);
  CHECK(farm.pass().touched.empty());     // both leases are over, and there is no other DCM
  farm.decide(0, 0, 1, Verdict::accept);  // too late
  const Actions late = farm.pass();
  CHECK(only_confirmation(late, 0).answer == Answer::refused);
  CHECK(only_assignment(late, 0).suspect);
}

TEST_CASE("no newer slice goes before a suspect, whatever room there is") {
  SupervisorSettings settings = small_farm();
  settings.in_flight_max = settings.pending_max = 64;
  settings.slices_max = 64;
  Farm farm(settings);
  farm.join_dcm(0, 40);
  farm.pass();
  const std::uint32_t credits = GENERATE(8U, 40U);
  farm.join_dcm(0, credits);  // the one before has died
  std::uint64_t next = 0;
  while (next < 64) {
    const auto given = assigned(farm.pass(), 0);
    REQUIRE_FALSE(given.empty());
    for (const Assignment& one : given) {
      CHECK(one.slice == SliceId(next));
      CHECK(one.suspect == (next < 40));
      ++next;
    }
    for (const Assignment& one : given) farm.decide(0, one.slice.value, one.attempt.value, Verdict::reject);
  }
}
