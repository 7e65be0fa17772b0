#include "model_farm.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::assignment;
using weir::assignment::test::Farm;
using weir::assignment::test::small_farm;

namespace {

// `slices` slices and no more, assigned to DCM 0, with writers 0 and 1.
Farm farm_with(std::uint64_t slices, std::size_t writers = 2) {
  SupervisorSettings settings = small_farm();
  settings.slices_max = slices;
  settings.writers = writers;
  Farm farm(settings);
  farm.join_dcm(0, 4);
  for (std::size_t i = 0; i < writers; ++i) farm.join_writer(static_cast<std::uint16_t>(i));
  farm.pass();
  return farm;
}

}  // namespace

TEST_CASE("a reject is settled by its confirmation, and cleared then") {
  Farm farm = farm_with(1);
  farm.decide(0, 0, 0, Verdict::reject);
  const Actions actions = farm.pass();
  REQUIRE(actions.dcms[0].confirm.size() == 1);
  CHECK(actions.dcms[0].confirm[0].answer == Answer::settled);
  REQUIRE(actions.cleared.size() == 1);
  CHECK(actions.cleared[0].outcome == Outcome::rejected);
  CHECK(farm.machine.ledger().rejected == farm.machine.ledger().triggered);
}

TEST_CASE("an accept is confirmed to a writer, and cleared only when that writer has it on disk") {
  Farm farm = farm_with(1);
  farm.decide(0, 0, 0, Verdict::accept);
  const Actions confirmed = farm.pass();
  REQUIRE(confirmed.dcms[0].confirm.size() == 1);
  const Confirmation& confirmation = confirmed.dcms[0].confirm[0];
  CHECK(confirmation.answer == Answer::store);
  CHECK(confirmation.epoch == StoreEpoch(0));
  CHECK(confirmation.writer == NodeIndex(0));
  CHECK(confirmed.cleared.empty());
  farm.store(0, 0, 0, 0);
  const Actions stored = farm.pass();
  REQUIRE(stored.cleared.size() == 1);
  CHECK(stored.cleared[0].outcome == Outcome::stored);
  CHECK(stored.cleared[0].writer == NodeIndex(0));
  CHECK(stored.copies.empty());
  CHECK(farm.machine.ledger().stored == farm.machine.ledger().triggered);
}

TEST_CASE("a credit returns with the decision, not with the storage") {
  SupervisorSettings settings = small_farm();
  Farm farm(settings);
  farm.join_dcm(0, 1);
  farm.join_writer(0);
  CHECK(farm.pass().dcms[0].assign.size() == 1);
  CHECK(farm.pass().touched.empty());
  farm.decide(0, 0, 0, Verdict::accept);
  const Actions actions = farm.pass();
  REQUIRE(actions.dcms[0].assign.size() == 1);
  CHECK(actions.dcms[0].assign[0].slice == SliceId(1));
}

TEST_CASE("accepted slices go to the writers in turn") {
  Farm farm = farm_with(4);
  for (std::uint64_t slice = 0; slice < 4; ++slice) farm.decide(0, slice, 0, Verdict::accept);
  const Actions actions = farm.pass();
  REQUIRE(actions.dcms[0].confirm.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(actions.dcms[0].confirm[i].writer.value == i % 2);
}

TEST_CASE("an incomplete accept is counted as stored and as incomplete") {
  Farm farm = farm_with(1);
  const AttemptDecision decision{SliceId(0), Attempt(0), Verdict::accept, DiscardReason::none, true};
  farm.machine.decisions(NodeIndex(0), {&decision, 1}, farm.now.mono, farm.actions);
  farm.store(0, 0, 0, 0);
  CHECK(farm.machine.ledger().stored.count == 1);
  CHECK(farm.machine.ledger().stored_incomplete.count == 1);
}

TEST_CASE("a failure is discarded with the reason that the DCM gives") {
  Farm farm = farm_with(2);
  farm.decide(0, 0, 0, Verdict::failed, DiscardReason::no_buffer);
  farm.decide(0, 1, 0, Verdict::failed, DiscardReason::drain_timeout);  // the DCM may not give this reason
  const Actions actions = farm.pass();
  CHECK(actions.dcms[0].confirm[0].answer == Answer::settled);
  CHECK(actions.cleared.size() == 2);
  CHECK(actions.cleared[0].outcome == Outcome::discarded);
  CHECK(farm.discarded(DiscardReason::no_buffer) == 1);
  CHECK(farm.discarded(DiscardReason::unspecified) == 1);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("in a farm without writers an accept is discarded for no_writer, and the DCM may drop it") {
  Farm farm = farm_with(1, 0);
  farm.decide(0, 0, 0, Verdict::accept);
  const Actions actions = farm.pass();
  CHECK(actions.dcms[0].confirm[0].answer == Answer::settled);
  CHECK(farm.discarded(DiscardReason::no_writer) == 1);
}

TEST_CASE("a decision about an attempt that is not open is refused, counted, and changes nothing") {
  Farm farm = farm_with(1);
  farm.join_dcm(1, 4);
  farm.decide(1, 0, 0, Verdict::reject);   // not its slice
  farm.decide(0, 0, 1, Verdict::reject);   // not the attempt
  farm.decide(0, 77, 0, Verdict::reject);  // nobody's slice
  const Actions actions = farm.pass();
  CHECK(actions.dcms[1].confirm[0].answer == Answer::refused);
  CHECK(actions.dcms[0].confirm[0].answer == Answer::refused);
  CHECK(actions.dcms[0].confirm[1].answer == Answer::refused);
  CHECK(actions.cleared.empty());
  CHECK(farm.machine.ledger().decisions_refused == 3);
  CHECK(farm.machine.dcms()[0].credits_free == 3);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("an accept that is reported twice gets the same confirmation again, and one credit") {
  Farm farm = farm_with(1);
  farm.decide(0, 0, 0, Verdict::accept);
  farm.decide(0, 0, 0, Verdict::accept);
  const Actions actions = farm.pass();
  REQUIRE(actions.dcms[0].confirm.size() == 2);
  CHECK(actions.dcms[0].confirm[1].answer == Answer::store);
  CHECK(actions.dcms[0].confirm[1].epoch == actions.dcms[0].confirm[0].epoch);
  CHECK(farm.machine.ledger().decisions_repeated == 1);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("batches from a node that has not joined are counted and have no effect") {
  Farm farm = farm_with(1, 1);
  farm.decide(2, 0, 0, Verdict::reject);
  farm.decide(999, 0, 0, Verdict::reject);
  farm.store(40, 0, 0, 0);
  CHECK(farm.machine.ledger().strangers == 3);
  CHECK(farm.machine.in_flight() == 1);
}

TEST_CASE("a repeated acknowledgement is answered as live, and so is one of a forgotten slice") {
  Farm farm = farm_with(1);
  farm.decide(0, 0, 0, Verdict::accept);
  farm.store(0, 0, 0, 0);
  farm.store(0, 0, 0, 0);
  farm.store(0, 500, 0, 0);
  const Actions actions = farm.pass();
  REQUIRE(actions.copies.size() == 2);
  CHECK(actions.copies[0].live);
  CHECK(actions.copies[1].slice == SliceId(500));
  CHECK(actions.copies[1].live);
  CHECK(actions.cleared.size() == 1);
  CHECK(farm.machine.ledger().acks_repeated == 1);
  CHECK(farm.machine.ledger().acks_unknown == 1);
}

TEST_CASE("a stopped farm is drained when everything in flight is settled") {
  Farm farm = farm_with(4);
  farm.machine.request_stop(farm.now.mono);
  CHECK_FALSE(farm.machine.drained());
  CHECK(farm.pass().announce.empty());
  for (std::uint64_t slice = 0; slice < 4; ++slice) farm.decide(0, slice, 0, Verdict::reject);
  CHECK(farm.machine.drained());
  CHECK_FALSE(farm.machine.next_wakeup(farm.now));
}

TEST_CASE("slices that are unsettled at the drain's deadline are discarded for drain_timeout, and cleared") {
  SupervisorSettings settings = small_farm();
  settings.lease_ns = kSecond * 1000;
  Farm farm(settings);
  farm.join_dcm(0, 3);
  farm.join_writer(0);
  farm.pass();
  farm.decide(0, 0, 0, Verdict::accept);
  farm.machine.request_stop(farm.now.mono);
  farm.pass();
  const std::size_t left = farm.machine.in_flight();
  farm.advance(5 * kSecond);
  CHECK(farm.machine.next_wakeup(farm.now) == farm.now.mono);
  const Actions actions = farm.pass();
  CHECK(actions.cleared.size() == left);
  CHECK(farm.discarded(DiscardReason::drain_timeout) == left);
  CHECK(farm.machine.drained());
  CHECK(farm.machine.pending() == 0);
  CHECK(farm.machine.broken_invariant() == "");

  farm.store(0, 0, 0, 0);  // on disk, too late
  farm.decide(0, 1, 0, Verdict::accept);
  const Actions late = farm.pass();
  REQUIRE(late.copies.size() == 1);
  CHECK_FALSE(late.copies[0].live);
  CHECK(late.dcms[0].confirm[0].answer == Answer::refused);
  CHECK(farm.machine.broken_invariant() == "");
}
