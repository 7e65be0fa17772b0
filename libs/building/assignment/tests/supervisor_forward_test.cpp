#include "model_farm.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::assignment;
using namespace weir::assignment::test;

namespace {

// DCMs 0 and 1 select, 2 builds; slices come one by one, from outside.
SupervisorSettings split_farm() {
  SupervisorSettings settings = small_farm();
  settings.groups = {{"selection", NodeIndex(0), 2, {GroupIndex(1)}}, {"building", NodeIndex(2), 1, {}}};
  return settings;
}

TriggerSettings from_outside() {
  TriggerSettings triggers;
  triggers.mode = "network";
  return triggers;
}

Farm farm(const SupervisorSettings& settings = split_farm()) {
  Farm made(settings, {"credits", "credits"}, from_outside());
  made.join_dcm(0, 2);
  made.join_dcm(1, 2);
  made.join_dcm(2, 2);
  made.join_writer(0);
  return made;
}

const Assignment* given(const Actions& actions, std::uint16_t dcm) {
  if (actions.dcms.size() <= dcm || actions.dcms[dcm].assign.empty()) return nullptr;
  return &actions.dcms[dcm].assign.front();
}

const GroupLedger& group(Farm& farm, std::size_t index) { return farm.machine.ledger().groups.at(index); }

bool balanced(Farm& farm) {
  const LedgerResult result = reconcile(farm.machine.ledger(), {}, {}, {}, {});
  for (const Equation& equation : result.equations) {
    const bool by_machine = equation.name.starts_with("slices: group ") &&
                            !equation.name.ends_with("forwarded by DCMs, forwarded");
    if (by_machine && !equation.ok) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a forwarded slice returns its credit and goes to the other group as the next attempt") {
  Farm split = farm();
  REQUIRE(split.offer(SliceId(5)).taken);
  REQUIRE(given(split.pass(), 0) != nullptr);
  CHECK(split.machine.dcms()[0].credits_free == 1);

  split.forward(0, 5, 0, 1, "track at 12");
  CHECK(split.machine.dcms()[0].credits_free == 2);
  const Actions actions = split.pass();
  REQUIRE(actions.forwarded.size() == 1);
  CHECK(actions.forwarded[0].attempt == Attempt(1));
  REQUIRE(actions.dcms[0].confirm.size() == 1);
  CHECK(actions.dcms[0].confirm[0].answer == Answer::settled);
  CHECK(actions.cleared.empty());  // readouts keep its fragments
  const Assignment* assigned = given(actions, 2);
  REQUIRE(assigned != nullptr);
  CHECK(assigned->attempt == Attempt(1));
  CHECK(forwarded_with(actions, *assigned) == "track at 12");
  CHECK(split.machine.in_flight() == 1);

  split.decide(2, 5, 1, Verdict::accept);
  split.store(0, 5, 1, 0);
  CHECK(split.pass().cleared.size() == 1);
  CHECK(split.machine.in_flight() == 0);
  CHECK(group(split, 1).arrived.count == 1);
  CHECK(group(split, 1).assigned.count == 1);
  CHECK(group(split, 1).stored.count == 1);
  CHECK(group(split, 0).forwarded.count == 1);
  CHECK(group(split, 0).stored.count == 0);
  CHECK(balanced(split));
}

TEST_CASE("an attempt after a forward stays in its group, gets the same bytes and counts as a reassignment") {
  Farm split = farm();
  REQUIRE(split.offer(SliceId(1)).taken);
  (void)split.pass();
  split.forward(0, 1, 0, 1, "abc");
  (void)split.pass();
  split.machine.dcm_left(node(2), split.now.mono, split.actions);
  Actions actions = split.pass();
  CHECK(actions.touched.empty());  // the first group has credits free, and gets nothing
  split.join_dcm(2, 1);
  actions = split.pass();
  const Assignment* again = given(actions, 2);
  REQUIRE(again != nullptr);
  CHECK(again->attempt == Attempt(2));
  CHECK(forwarded_with(actions, *again) == "abc");
  CHECK(group(split, 1).assigned.count == 1);
  CHECK(group(split, 1).reassigned == 1);
  CHECK(split.machine.broken_invariant() == "");
}

TEST_CASE("kills and suspicion of one group do not count in the next") {
  SupervisorSettings settings = split_farm();
  settings.filtered_attempts_max = 2;
  Farm split = farm(settings);
  REQUIRE(split.offer(SliceId(1)).taken);
  (void)split.pass();
  split.decide(0, 1, 0, Verdict::failed, DiscardReason::filter_failed);
  Actions actions = split.pass();
  REQUIRE(given(actions, 1) != nullptr);
  CHECK(given(actions, 1)->kills == 1);
  CHECK(given(actions, 1)->suspect);
  split.forward(1, 1, 1, 1);
  actions = split.pass();
  REQUIRE(given(actions, 2) != nullptr);
  CHECK(given(actions, 2)->kills == 0);
  CHECK_FALSE(given(actions, 2)->suspect);
  split.decide(2, 1, 2, Verdict::failed, DiscardReason::filter_failed);
  actions = split.pass();
  REQUIRE(given(actions, 2) != nullptr);
  CHECK_FALSE(given(actions, 2)->unfiltered);
}

TEST_CASE("a forward of an attempt that is not open is refused") {
  Farm split = farm();
  REQUIRE(split.offer(SliceId(1)).taken);
  (void)split.pass();
  split.now.mono += 3 * kSecond;  // its lease runs out, and DCM 1 has it next
  REQUIRE(given(split.pass(), 1) != nullptr);
  split.forward(0, 1, 0, 1);
  const Actions actions = split.pass();
  CHECK(actions.forwarded.empty());
  REQUIRE(actions.dcms[0].confirm.size() == 1);
  CHECK(actions.dcms[0].confirm[0].answer == Answer::refused);
  CHECK(group(split, 0).forwarded.count == 0);
}

TEST_CASE("a forward that the farm does not allow discards its slice with the reason") {
  Farm split = farm();
  for (std::uint64_t slice = 1; slice <= 3; ++slice) REQUIRE(split.offer(SliceId(slice)).taken);
  (void)split.pass();
  split.forward(0, 1, 0, 0);                          // to its own group
  split.forward(1, 2, 0, 9);                          // to a group that does not exist
  split.forward(0, 3, 0, 1, std::string(4097, 'x'));  // with too much
  (void)split.pass();
  CHECK(split.discarded(DiscardReason::unspecified) == 3);
  CHECK(split.machine.in_flight() == 0);
  CHECK(balanced(split));
}

TEST_CASE("a full group holds up triggers, by its name") {
  Farm split = farm();
  split.machine.dcm_left(node(2), split.now.mono, split.actions);
  for (std::uint64_t slice = 0; slice < 4; ++slice) {  // pending_max
    REQUIRE(split.offer(SliceId(slice)).taken);
    const Actions actions = split.pass();
    const std::uint16_t dcm = given(actions, 0) != nullptr ? 0 : 1;
    split.forward(dcm, slice, 0, 1);
  }
  CHECK(split.machine.pending(GroupIndex(1)) == 4);
  CHECK(split.offer(SliceId(9)).reason == VetoReason::throttled);
  const std::vector<HoldUp> held_up = split.machine.throttled_by();
  REQUIRE(held_up.size() == 1);
  CHECK(held_up[0].reason == "GROUP_FULL");
  CHECK(held_up[0].group == GroupIndex(1));
  split.join_dcm(2, 1);
  (void)split.pass();
  CHECK(split.offer(SliceId(9)).taken);
}

TEST_CASE("each slice in flight reserves the bytes of one forward") {
  SupervisorSettings settings = split_farm();
  settings.payload_bytes_max = 3 * 4096 + 100;
  Farm split = farm(settings);
  CHECK(split.offer(SliceId(1)).taken);
  CHECK(split.offer(SliceId(2), std::vector<std::byte>(101)).taken);
  CHECK(split.offer(SliceId(3)).reason == VetoReason::busy_pending);
}

TEST_CASE("an earlier copy of a slice that was forwarded is dead") {
  Farm split = farm();
  REQUIRE(split.offer(SliceId(1)).taken);
  (void)split.pass();
  split.decide(0, 1, 0, Verdict::accept);  // on its way to writer 0
  (void)split.pass();
  split.machine.dcm_left(node(0), split.now.mono, split.actions);
  REQUIRE(given(split.pass(), 1) != nullptr);
  split.forward(1, 1, 1, 1);
  (void)split.pass();
  split.store(0, 1, 0, 0);
  const Actions actions = split.pass();
  REQUIRE(actions.copies.size() == 1);
  CHECK_FALSE(actions.copies[0].live);
  CHECK(split.machine.in_flight() == 1);
}

TEST_CASE("another process of the supervisor resumes a forwarded slice with a forwarded slice in its group") {
  const bool assigned = GENERATE(false, true);
  Farm split = farm();
  REQUIRE(split.offer(SliceId(1)).taken);
  (void)split.pass();
  if (!assigned) split.machine.dcm_left(node(2), split.now.mono, split.actions);
  split.forward(0, 1, 0, 1, "found");
  (void)split.pass();
  const RunState state = split.machine.state(split.now.mono);

  SupervisorMachine next(split_farm(), make_trigger_source(from_outside()).value(),
                         Farm::made({"credits", "credits"}));
  Actions actions;
  next.resume(state, 0, split.now, actions);
  for (std::uint16_t dcm = 0; dcm < 3; ++dcm)
    next.dcm_joined(node(dcm), Incarnation(1), 1, split.now.mono, actions);
  next.tick(split.now, actions);
  CHECK(given(actions, 0) == nullptr);
  const Assignment* again = given(actions, 2);
  REQUIRE(again != nullptr);
  CHECK(again->attempt == Attempt(2));
  CHECK(forwarded_with(actions, *again) == "found");
  const GroupLedger& building = next.ledger().groups.at(1);
  CHECK(building.arrived.count == 1);
  CHECK(building.assigned.count == 1);
  CHECK(building.reassigned == (assigned ? 1 : 0));
}

TEST_CASE("a slice that waits for a group when the drain times out counts as settled while waiting") {
  Farm split = farm();
  split.machine.dcm_left(node(2), split.now.mono, split.actions);
  REQUIRE(split.offer(SliceId(1)).taken);
  (void)split.pass();
  split.forward(0, 1, 0, 1);
  (void)split.pass();
  split.machine.request_stop(split.now.mono);
  split.advance(6 * kSecond);
  (void)split.pass();
  CHECK(split.machine.drained());
  CHECK(group(split, 1).settled_waiting.count == 1);
  CHECK(group(split, 1).assigned.count == 0);
  CHECK(group(split, 1).discarded.count == 1);
  CHECK(balanced(split));
}

TEST_CASE("a readout that a whole group does not reach cuts off none of its DCMs") {
  Farm split = farm();
  split.machine.reach(node(0), {}, {}, split.now.mono);
  split.machine.reach(node(1), {}, {}, split.now.mono);
  const NodeIndex lost[] = {node(0)};
  split.machine.reach(node(2), lost, {}, split.now.mono);
  for (int i = 0; i < 10; ++i) {
    split.advance(kSecond);
    (void)split.pass();
  }
  CHECK_FALSE(split.machine.reach().is_cut_off(node(2)));
  CHECK(split.machine.reach().missing(node(2)).size() == 1);
  // Within a group it does.
  split.machine.reach(node(1), lost, {}, split.now.mono);
  split.advance(5 * kSecond);
  (void)split.pass();
  CHECK(split.machine.reach().is_cut_off(node(1)));
}

TEST_CASE("the actions of a pass are gone when they are cleared") {
  Farm split = farm();
  for (std::uint64_t slice = 1; slice <= 2; ++slice) REQUIRE(split.offer(SliceId(slice)).taken);
  (void)split.pass();
  split.forward(0, 1, 0, 1, "x");
  split.machine.dcm_left(node(1), split.now.mono, split.actions);
  CHECK(split.actions.reopened.size() == 1);
  CHECK(split.actions.forwarded.size() == 1);
  split.actions.clear();
  CHECK(split.actions.empty());
}

namespace {

SupervisorSettings fetching_farm() {
  SupervisorSettings settings = split_farm();
  settings.groups[1].fetches = true;
  return settings;
}

// Slice `id` is in DCM 2, and DCM 0 keeps it if the farm lets it. Returns the answer to DCM 0.
Answer forward_kept(Farm& split, std::uint64_t id) {
  REQUIRE(split.offer(SliceId(id)).taken);
  (void)split.pass();
  split.forward(0, id, 0, 1, "", true);
  const Actions actions = split.pass();
  REQUIRE(actions.dcms[0].confirm.size() == 1);
  return actions.dcms[0].confirm[0].answer;
}

void report_fetched(Farm& split, std::uint64_t id, std::uint16_t attempt) {
  const Lease lease{SliceId(id), Attempt(attempt)};
  split.machine.fetched(node(2), {&lease, 1}, split.actions);
}

std::size_t answers_to(const Actions& actions, std::uint16_t dcm) {
  return actions.dcms.size() <= dcm ? 0 : actions.dcms[dcm].confirm.size();
}

}  // namespace

TEST_CASE("a kept slice is named to its new DCM, and settled for the old one once the copy is whole") {
  Farm split = farm(fetching_farm());
  REQUIRE(split.offer(SliceId(1)).taken);
  (void)split.pass();
  split.forward(0, 1, 0, 1, "", true);
  Actions actions = split.pass();
  CHECK(actions.dcms[0].confirm[0].answer == Answer::keep);
  REQUIRE(given(actions, 2) != nullptr);
  CHECK(given(actions, 2)->kept_by == node(0));
  CHECK(given(actions, 2)->kept_attempt == Attempt(0));

  report_fetched(split, 1, 0);  // another attempt than the open one
  CHECK(answers_to(split.pass(), 0) == 0);
  report_fetched(split, 1, 1);
  actions = split.pass();
  REQUIRE(answers_to(actions, 0) == 1);
  CHECK(actions.dcms[0].confirm[0].answer == Answer::settled);
  CHECK(actions.dcms[0].confirm[0].attempt == Attempt(0));
  report_fetched(split, 1, 1);
  CHECK(answers_to(split.pass(), 0) == 0);
  CHECK(group(split, 1).fetched.count == 1);

  // The next attempt is built from the readouts.
  split.machine.dcm_left(node(2), split.now.mono, split.actions);
  split.join_dcm(2, 1);
  actions = split.pass();
  REQUIRE(given(actions, 2) != nullptr);
  CHECK(given(actions, 2)->kept_by == kNoNode);
}

TEST_CASE("no slice is kept for a group that fetches none") {
  Farm split = farm();
  CHECK(forward_kept(split, 1) == Answer::settled);
}

TEST_CASE("a slice that is settled without a copy is settled for the DCM that keeps it, too") {
  Farm split = farm(fetching_farm());
  REQUIRE(forward_kept(split, 1) == Answer::keep);
  split.decide(2, 1, 1, Verdict::reject);
  const Actions actions = split.pass();
  CHECK(answers_to(actions, 2) == 1);
  REQUIRE(answers_to(actions, 0) == 1);
  CHECK(actions.dcms[0].confirm[0].answer == Answer::settled);
  CHECK(group(split, 1).fetched.count == 0);
  CHECK(balanced(split));
}

TEST_CASE(
    "a new DCM that dies leaves the kept slice for the next one, an old DCM that dies for the readouts") {
  Farm split = farm(fetching_farm());
  REQUIRE(forward_kept(split, 1) == Answer::keep);
  split.machine.dcm_left(node(2), split.now.mono, split.actions);
  split.join_dcm(2, 1);
  Actions actions = split.pass();
  REQUIRE(given(actions, 2) != nullptr);
  CHECK(given(actions, 2)->attempt == Attempt(2));
  CHECK(given(actions, 2)->kept_by == node(0));
  CHECK(given(actions, 2)->kept_attempt == Attempt(0));

  split.machine.dcm_left(node(0), split.now.mono, split.actions);
  split.join_dcm(0, 2);
  split.machine.dcm_left(node(2), split.now.mono, split.actions);
  split.join_dcm(2, 1);
  actions = split.pass();
  REQUIRE(given(actions, 2) != nullptr);
  CHECK(given(actions, 2)->kept_by == kNoNode);
  report_fetched(split, 1, 3);
  CHECK(answers_to(split.pass(), 0) == 0);
  CHECK(split.machine.broken_invariant() == "");
}
