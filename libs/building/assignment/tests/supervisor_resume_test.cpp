#include "model_farm.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::assignment;
using weir::assignment::test::Farm;
using weir::assignment::test::node;
using weir::assignment::test::small_farm;

namespace {

Farm one_slice_farm() {
  SupervisorSettings settings = small_farm();
  settings.slices_max = 1;
  return Farm(settings);
}

// Slice 0 is stored by writer 1 in epoch 1, after writer 0, which was to store it in epoch 0, was lost.
RunState stored_the_second_time() {
  Farm farm = one_slice_farm();
  farm.join_dcm(0, 4);
  farm.join_writer(0);
  farm.pass();
  farm.decide(0, 0, 0, Verdict::accept);
  farm.pass();
  farm.machine.writer_left(node(0), farm.now.mono, farm.actions);
  farm.join_writer(1);
  farm.pass();
  farm.store(1, 0, 0, 1);
  REQUIRE(farm.pass().cleared.size() == 1);
  return farm.machine.state(farm.now.mono);
}

}  // namespace

TEST_CASE(
    "after a restart a copy that was given up is still dead, and other copies of forgotten slices are live") {
  const RunState state = stored_the_second_time();
  REQUIRE(state.open.empty());
  REQUIRE(state.given_up.size() == 1);
  SupervisorSettings settings = small_farm();
  settings.slices_max = 1;
  SupervisorMachine machine(settings, make_trigger_source({}).value(), make_policy("credits").value());
  Actions actions;
  const Now now{9'000'000, 1'700'000'000'008'000'000};
  machine.resume(state, kMillisecond, now, actions);
  machine.writer_joined(node(0), Incarnation(2), now.mono, actions);
  machine.writer_joined(node(1), Incarnation(2), now.mono, actions);
  const auto acknowledge = [&](std::uint16_t writer, std::uint16_t epoch) {
    const CopyId ack{SliceId(0), Attempt(0), StoreEpoch(epoch)};
    machine.stored(node(writer), {&ack, 1}, actions);
  };
  acknowledge(0, 0);
  acknowledge(1, 1);
  REQUIRE(actions.copies.size() == 2);
  CHECK(actions.copies[0].writer == node(0));
  CHECK_FALSE(actions.copies[0].live);
  CHECK(actions.copies[1].writer == node(1));
  CHECK(actions.copies[1].live);
}

TEST_CASE("a restarted supervisor continues with the clock: no id is a duplicate, none is shifted") {
  TriggerSettings triggers;
  triggers.mode = "clock";
  triggers.slice_ns = kMillisecond;
  SupervisorSettings settings = small_farm();
  settings.in_flight_max = 10'000;
  settings.pending_max = 10'000;
  Farm farm(settings, triggers);
  std::vector<Announcement> announced;
  const auto note = [&announced](const Actions& actions) {
    announced.insert(announced.end(), actions.announce.begin(), actions.announce.end());
  };
  for (int i = 0; i < 500; ++i) {
    farm.advance(kMillisecond);
    note(farm.pass());
  }
  const std::size_t before = announced.size();
  REQUIRE(before >= 499);
  RunState state = farm.machine.state(farm.now.mono);
  state.open.clear();  // all announced again otherwise
  state.ledger.triggered = {};

  SupervisorMachine second(settings, make_trigger_source(triggers).value(), make_policy("credits").value());
  Actions actions;
  Now now{77, farm.now.utc + 3 * kSecond};
  second.resume(state, now.utc - state.begun_utc, now, actions);
  for (int i = 0; i < 100; ++i) {
    second.tick(now, actions);
    note(actions);
    actions.clear();
    now.mono += kMillisecond;
    now.utc += kMillisecond;
  }
  CHECK(announced.size() >= before + 1000);
  for (const Announcement& one : announced) {
    const auto periods = static_cast<UtcNs>(one.slice.value - announced.front().slice.value);
    REQUIRE(one.info.time == announced.front().info.time + periods * triggers.slice_ns);
  }
  const SupervisorLedger& ledger = second.ledger();
  CHECK(ledger.vetoed[static_cast<std::size_t>(VetoReason::duplicate_id)] == 0);
  CHECK(ledger.vetoed[static_cast<std::size_t>(VetoReason::stalled)] >= 1990);
  // Every period is offered once, through the restart.
  const UtcNs last = now.utc - kMillisecond;
  CHECK(static_cast<UtcNs>(ledger.offered) == (last - announced.front().info.time) / triggers.slice_ns + 1);
}

TEST_CASE(
    "after a restart a trigger file continues from its place, even if a stranger offered triggers in vain") {
  TriggerSettings triggers;
  triggers.mode = "file";
  for (std::uint64_t i = 0; i < 10; ++i) triggers.file.push_back({SliceId(i), 1, {}, {}});
  SupervisorSettings settings = small_farm();
  settings.pending_max = 4;
  Farm farm(settings, triggers);
  for (int i = 0; i < 3; ++i) CHECK(farm.offer(std::nullopt).reason == VetoReason::closed);
  const std::size_t before = farm.pass().announce.size();
  REQUIRE(before == 4);
  SupervisorMachine second(settings, make_trigger_source(triggers).value(), make_policy("credits").value());
  Actions actions;
  second.resume(farm.machine.state(farm.now.mono), kMillisecond, farm.now, actions);
  actions.clear();
  second.dcm_joined(node(0), Incarnation(1), 100, farm.now.mono, actions);
  for (int i = 0; i < 2; ++i) second.tick(farm.now, actions);  // assigns the four, and makes room
  REQUIRE_FALSE(actions.announce.empty());
  CHECK(actions.announce.front().slice == SliceId(before));
}

TEST_CASE("possible dead copies of a writer are remembered until it reports them, across restarts") {
  Farm farm = one_slice_farm();
  farm.join_dcm(0, 4);
  farm.join_writer(0);
  farm.pass();
  farm.decide(0, 0, 0, Verdict::accept);
  farm.pass();
  CHECK(farm.machine.copies_given_up(node(0)).all == 0);
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions);
  CHECK(farm.machine.copies_given_up(node(0)).all == 1);
  CHECK(farm.machine.copies_given_up(node(0)).orphans == 0);
  CHECK(farm.machine.copies_given_up(node(1)).all == 0);

  SupervisorMachine machine(small_farm(), make_trigger_source({}).value(), make_policy("credits").value());
  Actions actions;
  machine.resume(farm.machine.state(farm.now.mono), kMillisecond, farm.now, actions);
  CHECK(machine.copies_given_up(node(0)).all == 1);
  machine.writer_joined(node(0), Incarnation(2), farm.now.mono, actions);
  const CopyId ack{SliceId(0), Attempt(0), StoreEpoch(0)};
  machine.stored(node(0), {&ack, 1}, actions);
  CHECK(machine.ledger().copies_taken == 1);
  CHECK(machine.copies_given_up(node(0)).all == 0);
}

TEST_CASE("a copy that was given up is an orphan when its slice is rejected after all, across restarts") {
  Farm farm = one_slice_farm();
  farm.join_dcm(0, 4);
  farm.join_writer(0);
  farm.pass();
  farm.decide(0, 0, 0, Verdict::accept);
  farm.pass();
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions);
  farm.join_dcm(1, 4);
  farm.pass();
  farm.decide(1, 0, 1, Verdict::reject);
  CHECK(farm.machine.in_flight() == 0);
  CHECK(farm.machine.copies_given_up(node(0)).orphans == 1);
  SupervisorMachine machine(small_farm(), make_trigger_source({}).value(), make_policy("credits").value());
  Actions actions;
  machine.resume(farm.machine.state(farm.now.mono), kMillisecond, farm.now, actions);
  CHECK(machine.copies_given_up(node(0)).orphans == 1);
}

TEST_CASE("a copy of a slice's last possible attempt is an orphan when its DCM leaves before it is stored") {
  RunState state = one_slice_farm().machine.state(0);
  OpenSlice& open = state.open.emplace_back();
  open.slice = SliceId(0);
  open.attempt = Attempt(UINT16_MAX - 1);
  open.assigned = true;
  state.ledger.offered = 1;
  state.ledger.triggered.add(SliceId(0));
  state.next_slice = SliceId(1);
  SupervisorSettings settings = small_farm();
  settings.slices_max = 1;
  SupervisorMachine machine(settings, make_trigger_source({}).value(), make_policy("credits").value());
  Actions actions;
  const Now now{9'000'000, 1'700'000'000'008'000'000};
  machine.resume(state, kMillisecond, now, actions);
  machine.dcm_joined(node(0), Incarnation(1), 4, now.mono, actions);
  machine.writer_joined(node(0), Incarnation(1), now.mono, actions);
  machine.tick(now, actions);
  REQUIRE(actions.of(node(0)).assign.size() == 1);
  const AttemptDecision accept{SliceId(0), Attempt(UINT16_MAX), Verdict::accept, DiscardReason::none, false};
  machine.decisions(node(0), {&accept, 1}, now.mono, actions);
  machine.dcm_left(node(0), now.mono, actions);
  CHECK(machine.in_flight() == 0);
  CHECK(machine.copies_given_up(node(0)).all == 1);
  CHECK(machine.copies_given_up(node(0)).orphans == 1);
  const CopyId ack{SliceId(0), Attempt(UINT16_MAX), StoreEpoch(0)};
  machine.stored(node(0), {&ack, 1}, actions);
  REQUIRE(actions.copies.size() == 1);
  CHECK_FALSE(actions.copies[0].live);
}

TEST_CASE(
    "a copy counts as incomplete if its own attempt was, whatever was accepted since, across restarts") {
  const bool incomplete = GENERATE(true, false);
  Farm farm = one_slice_farm();
  farm.join_dcm(0, 4);
  farm.join_writer(0);
  farm.pass();
  farm.decide(0, 0, 0, Verdict::accept, DiscardReason::none, incomplete);
  farm.pass();
  farm.machine.writer_left(node(0), farm.now.mono, farm.actions);
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions);
  farm.join_dcm(1, 4);
  farm.pass();
  SECTION("the same process") {
    farm.decide(1, 0, 1, Verdict::accept, DiscardReason::none, !incomplete);  // waits for a writer
    farm.machine.dcm_left(node(1), farm.now.mono, farm.actions);
    farm.join_writer(0);
    farm.store(0, 0, 0, 0);
    CHECK(farm.machine.ledger().copies_taken == 1);
    CHECK(farm.machine.ledger().stored_incomplete.count == (incomplete ? 1 : 0));
    REQUIRE(farm.actions.cleared.size() == 1);
    CHECK(farm.actions.cleared[0].incomplete == incomplete);
  }
  SECTION("the next process") {
    SupervisorMachine machine(small_farm(), make_trigger_source({}).value(), make_policy("credits").value());
    Actions actions;
    machine.resume(farm.machine.state(farm.now.mono), kMillisecond, farm.now, actions);
    machine.writer_joined(node(0), Incarnation(2), farm.now.mono, actions);
    const CopyId ack{SliceId(0), Attempt(0), StoreEpoch(0)};
    machine.stored(node(0), {&ack, 1}, actions);
    CHECK(machine.ledger().copies_taken == 1);
    CHECK(machine.ledger().stored_incomplete.count == (incomplete ? 1 : 0));
  }
}

TEST_CASE(
    "more slices than may be in flight continue after a restart, and none is triggered until there is room") {
  const bool suspects = GENERATE(false, true);
  Farm before(small_farm());
  before.join_dcm(0, 100);
  while (before.pass().announce.size() > 0) {
  }
  const std::size_t open = before.machine.in_flight();
  REQUIRE(open == small_farm().in_flight_max);
  if (suspects) before.machine.dcm_left(node(0), before.now.mono, before.actions);

  SupervisorSettings smaller = small_farm();
  smaller.in_flight_max = 3;
  smaller.remembered_slices = 4;
  SupervisorMachine machine(smaller, make_trigger_source({}).value(), make_policy("credits").value());
  Actions actions;
  machine.resume(before.machine.state(before.now.mono), kMillisecond, before.now, actions);
  CHECK(machine.in_flight() == open);
  CHECK(actions.announce.size() == open);
  machine.dcm_joined(node(1), Incarnation(1), 100, before.now.mono, actions);
  std::size_t made = 0;
  for (int pass = 0; pass < 100; ++pass) {
    const bool full = machine.in_flight() >= smaller.in_flight_max;
    actions.clear();
    machine.tick(before.now, actions);
    REQUIRE(machine.broken_invariant() == "");
    if (full) CHECK(actions.announce.empty());
    made += actions.announce.size();
    const std::vector<Assignment> assigned = actions.of(node(1)).assign;
    for (const Assignment& one : assigned) {
      const AttemptDecision reject{one.slice, one.attempt, Verdict::reject, DiscardReason::none, false};
      machine.decisions(node(1), {&reject, 1}, before.now.mono, actions);
    }
  }
  CHECK(made > open);
  CHECK(machine.in_flight() <= smaller.in_flight_max);
  CHECK(machine.ledger().rejected.count >= open + made - smaller.in_flight_max);
}
