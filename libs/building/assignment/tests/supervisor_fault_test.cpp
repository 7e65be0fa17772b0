#include "one_slice.hpp"
#include "weir_catch.hpp"

#include <algorithm>

using namespace weir;
using namespace weir::assignment;
using weir::assignment::test::Farm;
using weir::assignment::test::one_slice;
using weir::assignment::test::only_assignment;
using weir::assignment::test::only_confirmation;
using weir::assignment::test::small_farm;

TEST_CASE("a dead DCM's undecided slices go to another as the next attempt, before all others") {
  SupervisorSettings settings = small_farm();
  Farm farm(settings);
  farm.join_dcm(0, 3);
  farm.pass();
  farm.machine.dcm_left(NodeIndex(0), farm.now.mono, farm.actions);
  farm.join_dcm(1, 3);
  farm.join_dcm(2, 3);
  const Actions actions = farm.pass();
  std::vector<Assignment> all = actions.dcms[1].assign;
  for (const Assignment& one : actions.dcms[2].assign) all.push_back(one);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.slice < b.slice; });
  REQUIRE(all.size() == 6);  // three new ones after them
  for (std::uint16_t i = 0; i < 3; ++i) {
    const Assignment& again = all[i];
    CHECK(again.slice == SliceId(i));
    CHECK(again.attempt == Attempt(1));
    CHECK(again.suspect);
    CHECK_FALSE(again.unfiltered);
  }
  REQUIRE(farm.machine.faults().size() == 1);
  CHECK(describe(farm.machine.faults()[0], plain_name) == "dcm-0 was lost: 3 slices given to others");
  const auto name_of = [](Role role, NodeIndex index) { return "near of " + plain_name(role, index); };
  CHECK(describe(farm.machine.faults()[0], name_of) == "near of dcm-0 was lost: 3 slices given to others");
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("an expired lease goes to another DCM, the late decision is refused, and then its credit returns") {
  Farm farm = one_slice();
  farm.join_dcm(1, 4);
  CHECK(farm.machine.next_wakeup(farm.now) == farm.now.mono + kSecond);
  farm.advance(kSecond - 1);
  CHECK(farm.pass().touched.empty());
  farm.advance(1);
  const Actions again = farm.pass();
  CHECK(only_assignment(again, 1).attempt == Attempt(1));
  CHECK(farm.machine.dcms()[0].credits_free == 3);
  CHECK(describe(farm.machine.faults()[0], plain_name) == "dcm-0 stalled: 1 slice taken from it");

  farm.decide(0, 0, 0, Verdict::accept);
  farm.decide(0, 0, 0, Verdict::accept);
  const Actions refused = farm.pass();
  CHECK(refused.dcms[0].confirm[0].answer == Answer::refused);
  CHECK(farm.machine.dcms()[0].credits_free == 4);
  farm.decide(1, 0, 1, Verdict::reject);
  CHECK(farm.machine.ledger().rejected.count == 1);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("a filter that fails costs an attempt, not the slice") {
  Farm farm = one_slice();
  farm.decide(0, 0, 0, Verdict::failed, DiscardReason::filter_failed);
  const Actions second = farm.pass();
  CHECK(only_confirmation(second, 0).answer == Answer::refused);
  CHECK_FALSE(only_assignment(second, 0).unfiltered);
  farm.decide(0, 0, 1, Verdict::failed, DiscardReason::filter_failed);
  CHECK(only_assignment(farm.pass(), 0).unfiltered);
  CHECK(farm.machine.dcms()[0].credits_free == 3);
}

TEST_CASE("the death of its DCM reopens a confirmed accept, and the copy in transit still counts") {
  Farm farm = one_slice();
  farm.join_writer(0);
  farm.decide(0, 0, 0, Verdict::accept);
  farm.pass();
  farm.machine.dcm_left(NodeIndex(0), farm.now.mono, farm.actions);
  const bool assigned_again = GENERATE(false, true);
  if (assigned_again) {
    farm.join_dcm(1, 4);
    CHECK(only_assignment(farm.pass(), 1).attempt == Attempt(1));
  }
  farm.store(0, 0, 0, 0);
  const Actions stored = farm.pass();
  REQUIRE(stored.cleared.size() == 1);
  CHECK(stored.cleared[0].outcome == Outcome::stored);
  CHECK(stored.cleared[0].attempt == Attempt(0));
  CHECK(stored.cleared[0].writer == NodeIndex(0));
  CHECK(stored.copies.empty());
  CHECK(farm.machine.ledger().copies_taken == 1);
  CHECK(farm.machine.ledger().stored.count == 1);
  CHECK(farm.machine.settled_and_built().size() == (assigned_again ? 1 : 0));
  if (!assigned_again) return;
  CHECK(farm.machine.settled_and_built().front() == stored.cleared[0].slice);
  farm.decide(1, 0, 1, Verdict::accept);
  CHECK(only_confirmation(farm.pass(), 1).answer == Answer::refused);
  CHECK(farm.machine.settled_and_built().empty());
  CHECK(farm.machine.dcms()[1].credits_free == 4);
}

TEST_CASE("once the reopened attempt is confirmed, the copy in transit is dead") {
  Farm farm = one_slice();
  farm.join_writer(0);
  farm.decide(0, 0, 0, Verdict::accept);
  farm.pass();
  farm.machine.dcm_left(NodeIndex(0), farm.now.mono, farm.actions);
  farm.join_dcm(1, 4);
  CHECK(only_assignment(farm.pass(), 1).attempt == Attempt(1));
  farm.decide(1, 0, 1, Verdict::accept);
  CHECK(only_confirmation(farm.pass(), 1).epoch == StoreEpoch(1));
  farm.store(0, 0, 0, 0);
  const Actions late = farm.pass();
  REQUIRE(late.copies.size() == 1);
  CHECK_FALSE(late.copies[0].live);
  CHECK(late.cleared.empty());
  farm.store(0, 0, 1, 1);
  const Actions stored = farm.pass();
  REQUIRE(stored.cleared.size() == 1);
  CHECK(stored.cleared[0].epoch == StoreEpoch(1));
  CHECK(stored.cleared[0].attempt == Attempt(1));
  CHECK(farm.machine.ledger().stored.count == 1);
  CHECK(farm.machine.ledger().acks_dead == 1);
}

TEST_CASE("a writer is notified of a dead copy, and whether its slice is settled") {
  SupervisorSettings settings = small_farm();
  settings.slices_max = 1;
  settings.remembered_slices = 1;
  Farm farm(settings);
  farm.join_dcm(0, 4);
  farm.join_writer(0);
  farm.pass();
  farm.decide(0, 0, 0, Verdict::accept);
  farm.machine.dcm_left(NodeIndex(0), farm.now.mono, farm.actions);
  farm.join_dcm(1, 4);
  farm.pass();
  farm.decide(1, 0, 1, Verdict::accept);
  farm.pass();
  farm.store(0, 0, 0, 0);
  const Actions open = farm.pass();
  REQUIRE(open.copies.size() == 1);
  CHECK_FALSE(open.copies[0].live);
  CHECK_FALSE(open.copies[0].settled);
  farm.store(0, 0, 1, 1);
  CHECK(farm.pass().cleared.size() == 1);
  farm.store(0, 0, 0, 0);
  SupervisorMachine next(settings, make_trigger_source({}).value(), make_policy("credits").value());
  next.resume(farm.machine.state(farm.now.mono), kMillisecond, farm.now, farm.actions);
  next.writer_joined(NodeIndex(0), Incarnation(1), farm.now.mono, farm.actions);
  const CopyId ack{SliceId(0), Attempt(0), StoreEpoch(0)};
  next.stored(NodeIndex(0), {&ack, 1}, farm.actions);  // forgotten there
  REQUIRE(farm.actions.copies.size() == 2);
  for (const CopyNotice& copy : farm.actions.copies) {
    CHECK_FALSE(copy.live);
    CHECK(copy.settled);
  }
}

TEST_CASE("whatever the reopened attempt decides counts, also a reject after an accept") {
  Farm farm = one_slice();
  farm.join_writer(0);
  farm.decide(0, 0, 0, Verdict::accept);
  farm.join_dcm(0, 4);
  farm.pass();
  farm.decide(0, 0, 1, Verdict::reject);
  const Actions actions = farm.pass();
  REQUIRE(actions.cleared.size() == 1);
  CHECK(actions.cleared[0].outcome == Outcome::rejected);
  CHECK(actions.cleared[0].writer == kNoNode);
}

TEST_CASE("no action for a dead DCM is sent to its successor") {
  Farm farm = one_slice();
  farm.decide(0, 0, 0, Verdict::reject);
  farm.machine.dcm_left(NodeIndex(0), farm.now.mono, farm.actions);
  farm.join_dcm(0, 4);
  CHECK(farm.pass().touched.empty());
}

TEST_CASE(
    "a dead writer's slices are confirmed to another under a higher epoch, and its late acknowledgement is "
    "dead") {
  Farm farm = one_slice();
  farm.join_writer(0);
  farm.join_writer(1);
  farm.decide(0, 0, 0, Verdict::accept);
  CHECK(only_confirmation(farm.pass(), 0).writer == NodeIndex(0));
  farm.machine.writer_left(NodeIndex(0), farm.now.mono, farm.actions);
  const Actions actions = farm.pass();
  CHECK(only_confirmation(actions, 0).writer == NodeIndex(1));
  CHECK(only_confirmation(actions, 0).epoch == StoreEpoch(1));
  farm.join_writer(0);
  farm.store(0, 0, 0, 0);
  CHECK(farm.machine.in_flight() == 1);
  farm.store(1, 0, 0, 1);
  CHECK(farm.machine.in_flight() == 0);
  CHECK(farm.machine.ledger().reconfirmed == 1);
  CHECK_FALSE(farm.pass().copies[0].live);
}

TEST_CASE("a writer that was not named cannot settle a slice") {
  Farm farm = one_slice();
  farm.join_writer(0);
  farm.join_writer(1);
  farm.decide(0, 0, 0, Verdict::accept);
  farm.store(1, 0, 0, 0);
  CHECK(farm.machine.in_flight() == 1);
  CHECK_FALSE(farm.pass().copies[0].live);
}

TEST_CASE("while no writer lives accepted slices wait, and the next writer gets them") {
  Farm farm = one_slice();
  farm.decide(0, 0, 0, Verdict::accept);
  CHECK(farm.pass().touched.empty());
  CHECK(farm.machine.dcms()[0].credits_free == 4);
  farm.advance(100 * kSecond);  // no lease runs out while it waits
  CHECK(farm.pass().touched.empty());
  farm.join_writer(1);
  const Actions actions = farm.pass();
  CHECK(only_confirmation(actions, 0).writer == NodeIndex(1));
  CHECK(only_confirmation(actions, 0).epoch == StoreEpoch(0));
}

TEST_CASE("a writer that does not acknowledge in time loses the slice to another one, if available") {
  SupervisorSettings settings = small_farm();
  settings.writer_ack_ns = kSecond;
  Farm farm = one_slice(settings);
  farm.join_writer(0);
  farm.decide(0, 0, 0, Verdict::accept);
  farm.pass();
  farm.advance(kSecond);
  CHECK(farm.pass().touched.empty());
  farm.join_writer(1);
  farm.advance(kSecond);
  const Actions actions = farm.pass();
  CHECK(only_confirmation(actions, 0).writer == NodeIndex(1));
  CHECK(only_confirmation(actions, 0).epoch == StoreEpoch(1));
  CHECK(describe(farm.machine.faults().back(), plain_name) == "writer-0 stalled: 1 slice taken from it");
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("a DCM reports an accepted slice that it no longer has, and the slice is built again") {
  Farm farm = one_slice();
  farm.join_writer(0);
  farm.decide(0, 0, 0, Verdict::accept);
  farm.pass();
  farm.decide(0, 0, 0, Verdict::failed, DiscardReason::lost);
  const Actions actions = farm.pass();
  CHECK(only_confirmation(actions, 0).answer == Answer::refused);
  CHECK(only_assignment(actions, 0).attempt == Attempt(1));
  CHECK_FALSE(only_assignment(actions, 0).unfiltered);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("a slice refused by its writer is built again, and discarded at the third refusal") {
  Farm farm = one_slice();
  farm.join_writer(0);
  for (std::uint16_t attempt = 0; attempt < 3; ++attempt) {
    CAPTURE(attempt);
    farm.decide(0, 0, attempt, Verdict::accept);
    CHECK(only_confirmation(farm.pass(), 0).answer == Answer::store);
    farm.decide(0, 0, attempt, Verdict::failed, DiscardReason::writer_refused);
    const Actions actions = farm.pass();
    CHECK(only_confirmation(actions, 0).answer == Answer::refused);
    if (attempt < 2) {
      CHECK(only_assignment(actions, 0).attempt == Attempt(attempt + 1));
      CHECK_FALSE(only_assignment(actions, 0).unfiltered);
    } else {
      REQUIRE(actions.cleared.size() == 1);
      CHECK(actions.cleared[0].outcome == Outcome::discarded);
    }
  }
  CHECK(farm.discarded(DiscardReason::writer_refused) == 1);
  CHECK(farm.machine.ledger().records_refused == 3);
  CHECK(farm.machine.dcms()[0].credits_free == 4);
  // A copy of it that gets to the disk after all is dead.
  farm.store(0, 0, 2, 2);
  const Actions late = farm.pass();
  REQUIRE(late.copies.size() == 1);
  CHECK_FALSE(late.copies[0].live);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("if every writer is slower than the limit, a slice is left to one of them longer and longer") {
  SupervisorSettings settings = small_farm();
  settings.writer_ack_ns = kSecond;
  Farm farm = one_slice(settings);
  farm.join_writer(0);
  farm.join_writer(1);
  farm.decide(0, 0, 0, Verdict::accept);
  farm.pass();
  // Each writer acknowledges its slices 3 s later.
  std::uint16_t writer = 0;
  std::uint16_t epoch = 0;
  int confirmed = 1;
  for (int second = 0; second < 20 && farm.machine.in_flight() > 0; ++second) {
    farm.advance(kSecond);
    const Actions actions = farm.pass();
    if (!actions.touched.empty()) {
      writer = only_confirmation(actions, 0).writer.value;
      epoch = only_confirmation(actions, 0).epoch.value;
      ++confirmed;
      second = 0;
    } else if (second == 3) {
      farm.store(writer, 0, 0, epoch);
    }
  }
  CHECK(farm.machine.ledger().stored.count == 1);
  CHECK(confirmed == 3);
}

TEST_CASE("a readout or a writer that leaves after the run has drained is not a fault") {
  Farm farm = one_slice();
  farm.machine.readout_joined(NodeIndex(0), Incarnation(1), farm.now.mono);
  farm.join_writer(0);
  farm.decide(0, 0, 0, Verdict::reject);
  farm.machine.request_stop(farm.now.mono);
  farm.machine.readout_left(NodeIndex(0), farm.now.mono);
  farm.machine.writer_left(NodeIndex(0), farm.now.mono, farm.actions);
  CHECK(farm.machine.faults().empty());
}

TEST_CASE(
    "a DCM that leaves after the run is drained is a fault, because it may not have received the last "
    "answers") {
  Farm farm = one_slice();
  farm.decide(0, 0, 0, Verdict::reject);
  farm.machine.request_stop(farm.now.mono);
  farm.machine.dcm_left(NodeIndex(0), farm.now.mono, farm.actions);
  CHECK(farm.machine.faults().size() == 1);
}

TEST_CASE("a reopening is in the actions of its own pass alone") {
  Farm farm(small_farm());
  farm.join_dcm(0, 2);
  REQUIRE_FALSE(farm.pass().announce.empty());
  farm.machine.dcm_left(NodeIndex(0), farm.now.mono, farm.actions);
  REQUIRE(farm.actions.reopened.size() == 2);
  farm.actions.clear();
  CHECK(farm.actions.empty());
}
