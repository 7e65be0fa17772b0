// Tests of pauses, and of nodes that are removed from the run and added again.
#include "model_farm.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::assignment;
using weir::assignment::test::Farm;
using weir::assignment::test::node;
using weir::assignment::test::small_farm;

namespace {

constexpr NodeRef readout(std::uint16_t index) { return {Role::readout, NodeIndex(index)}; }
constexpr NodeRef dcm(std::uint16_t index) { return {Role::dcm, NodeIndex(index)}; }
constexpr NodeRef writer(std::uint16_t index) { return {Role::writer, NodeIndex(index)}; }

TriggerSettings mode(std::string_view name, double rate_hz = 1000) {
  TriggerSettings triggers;
  triggers.mode = name;
  triggers.rate_hz = rate_hz;
  triggers.slice_ns = 10 * kMillisecond;
  return triggers;
}

SupervisorSettings looking_at_once() {
  SupervisorSettings settings = small_farm();
  settings.drain_look_ns = 1;
  return settings;
}

bool leaves(const Actions& actions, NodeRef node) {
  return std::find(actions.leaving.begin(), actions.leaving.end(), node) != actions.leaving.end();
}

bool assigned_to(Actions& actions, std::uint16_t dcm) { return !actions.of(node(dcm)).assign.empty(); }

}  // namespace

TEST_CASE("in a pause a timed trigger source offers in vain, and the run continues afterwards") {
  const std::string name = GENERATE("rate", "poisson", "clock");
  CAPTURE(name);
  Farm farm(small_farm(), mode(name));
  farm.join_dcm(0, 100);
  farm.machine.pause(farm.now.mono);
  farm.advance(500 * kMillisecond);
  CHECK(farm.pass().announce.empty());
  CHECK(farm.vetoed(VetoReason::paused) > 0);
  CHECK(farm.machine.ledger().offered == farm.vetoed(VetoReason::paused));
  farm.machine.continue_run(farm.now.mono);
  const std::uint64_t before = farm.machine.ledger().offered;
  farm.advance(15 * kMillisecond);
  CHECK_FALSE(farm.pass().announce.empty());
  CHECK(farm.machine.ledger().offered > before);
  CHECK(farm.machine.paused_ns(farm.now.mono) == 500 * kMillisecond);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("in a pause a source that waits for room is not asked, and offers no triggers") {
  Farm farm(small_farm(), mode("max"));
  farm.join_dcm(0, 2);
  farm.machine.pause(farm.now.mono);
  farm.advance(kSecond / 2);
  CHECK(farm.pass().announce.empty());
  CHECK(farm.machine.ledger().offered == 0);
  CHECK_FALSE(farm.machine.next_wakeup(farm.now).has_value());
  farm.machine.continue_run(farm.now.mono);
  CHECK_FALSE(farm.pass().announce.empty());
}

TEST_CASE("an external trigger in a pause is answered so, and slices in flight continue") {
  Farm farm(small_farm(), mode("network"));
  farm.join_dcm(0, 2);
  REQUIRE(farm.offer(std::nullopt).taken);
  farm.pass();
  farm.machine.pause(farm.now.mono);
  const OfferResult result = farm.offer(std::nullopt);
  CHECK_FALSE(result.taken);
  CHECK(result.reason == VetoReason::paused);
  farm.decide(0, 0, 0, Verdict::reject);
  CHECK(farm.pass().cleared.size() == 1);
}

TEST_CASE("a pause does not count for the length of a run, and a stop ends it") {
  SupervisorSettings settings = small_farm();
  settings.duration_ns = kSecond;
  Farm farm(settings, mode("rate", 10));
  farm.join_dcm(0, 100);
  farm.machine.pause(farm.now.mono);
  farm.advance(5 * kSecond);
  farm.pass();
  CHECK_FALSE(farm.machine.triggers_done());
  farm.machine.continue_run(farm.now.mono);
  farm.advance(999 * kMillisecond);
  farm.pass();
  CHECK_FALSE(farm.machine.triggers_done());
  farm.advance(2 * kMillisecond);
  farm.pass();
  CHECK(farm.machine.triggers_done());
  farm.machine.pause(farm.now.mono);
  farm.advance(kSecond);
  farm.machine.request_stop(farm.now.mono);
  farm.advance(kSecond);
  CHECK_FALSE(farm.machine.paused());
  CHECK(farm.machine.paused_ns(farm.now.mono) == 6 * kSecond);
}

TEST_CASE("a pause, removed nodes and a readout's absence outlive the supervisor's process") {
  Farm farm(small_farm(), mode("max"));
  farm.join_dcm(0, 1);
  farm.machine.readout_joined(node(0), Incarnation(1), farm.now.mono);
  farm.pass();
  const SliceOrder next = farm.machine.next_order();
  farm.machine.pause(farm.now.mono);
  farm.machine.remove(readout(0), farm.now.mono);
  farm.machine.remove(dcm(1), farm.now.mono);
  farm.advance(kMillisecond);
  const RunState state = farm.machine.state(farm.now.mono);
  SupervisorMachine machine(small_farm(), make_trigger_source(mode("max")).value(),
                            make_policy("credits").value());
  Actions actions;
  const Now later{farm.now.mono + kSecond, farm.now.utc + kSecond};
  machine.resume(state, kSecond, later, actions);
  CHECK(machine.paused());
  CHECK(machine.paused_ns(later.mono) == kMillisecond);
  CHECK(machine.part(readout(0)) == Part::out);
  CHECK(machine.part(dcm(1)) == Part::out);
  CHECK(machine.part(dcm(0)) == Part::in);
  CHECK(machine.absences().covers(node(0), next));
  CHECK_FALSE(machine.absences().covers(node(0), SliceOrder(0)));
  machine.dcm_joined(node(1), Incarnation(2), 5, later.mono, actions);
  CHECK(machine.dcms()[1].credits_free == 0);
}

TEST_CASE("a DCM that drains gets no slice, finishes its present ones, and leaves without a fault") {
  Farm farm(looking_at_once(), mode("max"));
  farm.join_dcm(0, 1);
  farm.join_dcm(1, 1);
  farm.join_writer(0);
  farm.pass();
  farm.machine.remove(dcm(0), farm.now.mono);
  Actions actions = farm.pass();
  CHECK_FALSE(leaves(actions, dcm(0)));
  farm.decide(0, 0, 0, Verdict::accept);
  farm.advance(1);
  actions = farm.pass();
  CHECK_FALSE(assigned_to(actions, 0));
  CHECK_FALSE(leaves(actions, dcm(0)));  // its accepted slice is not on disk
  farm.store(0, 0, 0, 0);
  farm.advance(1);
  actions = farm.pass();
  CHECK(leaves(actions, dcm(0)));
  CHECK(actions.cleared.size() == 1);
  CHECK(farm.machine.part(dcm(0)) == Part::leaving);
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions, true);
  CHECK(farm.machine.part(dcm(0)) == Part::out);
  CHECK(farm.machine.faults().empty());
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("a DCM that was removed idles when it rejoins, until it is added") {
  Farm farm(looking_at_once(), mode("max"));
  farm.machine.remove(dcm(0), farm.now.mono);
  CHECK(farm.machine.part(dcm(0)) == Part::out);
  farm.join_dcm(0, 2);
  Actions actions = farm.pass();
  CHECK_FALSE(assigned_to(actions, 0));
  farm.machine.add(dcm(0), farm.now.mono, farm.actions);
  actions = farm.pass();
  CHECK(assigned_to(actions, 0));
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("a DCM that is added while it still drains continues with all its credits") {
  Farm farm(looking_at_once(), mode("max"));
  farm.join_dcm(0, 2);
  farm.pass();
  farm.machine.remove(dcm(0), farm.now.mono);
  farm.decide(0, 0, 0, Verdict::reject);
  farm.pass();
  CHECK(farm.machine.dcms()[0].credits_free == 0);
  farm.machine.add(dcm(0), farm.now.mono, farm.actions);
  CHECK(farm.machine.dcms()[0].credits_free == 1);
  Actions actions = farm.pass();
  CHECK(assigned_to(actions, 0));
  CHECK_FALSE(leaves(actions, dcm(0)));
}

TEST_CASE("a DCM that is added after it was told to end takes part with its next process") {
  Farm farm(looking_at_once(), mode("max"));
  farm.join_dcm(0, 2);
  farm.join_dcm(1, 2);
  farm.machine.remove(dcm(0), farm.now.mono);
  Actions actions = farm.pass();
  REQUIRE(leaves(actions, dcm(0)));
  farm.machine.add(dcm(0), farm.now.mono, farm.actions);
  actions = farm.pass();
  CHECK_FALSE(assigned_to(actions, 0));
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions, true);
  CHECK(farm.machine.part(dcm(0)) == Part::in);
  farm.join_dcm(0, 2);
  actions = farm.pass();
  CHECK(assigned_to(actions, 0));
  CHECK(farm.machine.faults().empty());
}

TEST_CASE("a DCM that dies while it drains is a fault, and its slices go to others") {
  Farm farm(looking_at_once(), mode("max"));
  farm.join_dcm(0, 1);
  farm.pass();
  farm.machine.remove(dcm(0), farm.now.mono);
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions);
  CHECK(farm.machine.part(dcm(0)) == Part::out);
  CHECK(farm.machine.faults().size() == 1);
  farm.join_dcm(1, 1);
  Actions actions = farm.pass();
  REQUIRE(assigned_to(actions, 1));
  CHECK(actions.of(node(1)).assign.front().attempt == Attempt(1));
}

TEST_CASE("a DCM that was let go and leaves before its final report is a fault, and is let go again") {
  Farm farm(looking_at_once(), mode("max"));
  farm.join_dcm(0, 1);
  farm.join_dcm(1, 1);
  farm.pass();
  farm.machine.remove(dcm(0), farm.now.mono);
  farm.decide(0, 0, 0, Verdict::reject);
  farm.advance(1);
  REQUIRE(leaves(farm.pass(), dcm(0)));
  // Nothing confirms that it has received the fate of its last slice.
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions);
  REQUIRE(farm.machine.faults().size() == 1);
  CHECK(farm.machine.faults()[0].kind == FaultKind::left);
  CHECK(farm.machine.part(dcm(0)) == Part::out);
  // The same process, over a new connection; this time it ends in order.
  farm.join_dcm(0, 1);
  farm.machine.remove(dcm(0), farm.now.mono);
  farm.advance(1);
  REQUIRE(leaves(farm.pass(), dcm(0)));
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions, true);
  CHECK(farm.machine.faults().size() == 1);
  // An idle DCM cannot have missed anything.
  farm.join_dcm(0, 1);
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions);
  CHECK(farm.machine.faults().size() == 1);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE(
    "a process that was told to end and reconnects takes no part, and its successor does if it was added") {
  const NodeRef who = GENERATE(readout(0), dcm(0), writer(0));
  const bool added = GENERATE(false, true);
  CAPTURE(name(who.role), added);
  Farm farm(looking_at_once(), mode("max"));
  const auto join = [&](Incarnation incarnation) {
    if (who.role == Role::dcm) {
      farm.machine.dcm_joined(who.node, incarnation, 1, farm.now.mono, farm.actions);
    } else if (who.role == Role::writer) {
      farm.machine.writer_joined(who.node, incarnation, farm.now.mono, farm.actions);
    } else {
      farm.machine.readout_joined(who.node, incarnation, farm.now.mono);
    }
  };
  const auto leave = [&] {
    if (who.role == Role::dcm) {
      farm.machine.dcm_left(who.node, farm.now.mono, farm.actions, true);
    } else if (who.role == Role::writer) {
      farm.machine.writer_left(who.node, farm.now.mono, farm.actions);
    } else {
      farm.machine.readout_left(who.node, farm.now.mono);
    }
  };
  // As an earlier process of the supervisor left it.
  farm.machine.remove(who, farm.now.mono);
  farm.join_dcm(1, 1);
  farm.pass();
  if (added) farm.machine.add(who, farm.now.mono, farm.actions);
  farm.machine.was_told_to_end(who, farm.actions);
  join(Incarnation(3));
  CHECK(farm.machine.part(who) == (added ? Part::returning : Part::leaving));
  Actions actions = farm.pass();
  CHECK(leaves(actions, who));
  CHECK_FALSE(assigned_to(actions, 0));
  const SliceOrder next = farm.machine.next_order();
  if (who.role == Role::readout) CHECK(farm.machine.absences().covers(who.node, next));
  CHECK(farm.machine.broken_invariant() == "");
  leave();
  CHECK(farm.machine.faults().empty());
  CHECK(farm.machine.part(who) == (added ? Part::in : Part::out));
  join(Incarnation(4));
  actions = farm.pass();
  CHECK_FALSE(leaves(actions, who));
  if (who.role == Role::readout) CHECK(farm.machine.absences().covers(who.node, next) == !added);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("a readout that drains is part of slices triggered before, and of none after") {
  Farm farm(looking_at_once(), mode("network"));
  farm.machine.readout_joined(node(0), Incarnation(1), farm.now.mono);
  farm.join_dcm(0, 4);
  REQUIRE(farm.offer(std::nullopt).slice == SliceId(0));
  farm.machine.remove(readout(0), farm.now.mono);
  REQUIRE(farm.offer(std::nullopt).slice == SliceId(1));
  CHECK_FALSE(farm.machine.absences().covers(node(0), SliceOrder(0)));
  CHECK(farm.machine.absences().covers(node(0), SliceOrder(1)));
  CHECK_FALSE(leaves(farm.pass(), readout(0)));
  farm.decide(0, 0, 0, Verdict::reject);
  farm.advance(1);
  const Actions actions = farm.pass();
  CHECK(actions.cleared.size() == 1);
  CHECK(leaves(actions, readout(0)));  // slice 1 is not its business
  farm.machine.readout_left(node(0), farm.now.mono);
  CHECK(farm.machine.faults().empty());
  // Added while disconnected, it stays away until it connects.
  farm.machine.add(readout(0), farm.now.mono, farm.actions);
  REQUIRE(farm.offer(std::nullopt).slice == SliceId(2));
  CHECK(farm.machine.absences().covers(node(0), SliceOrder(2)));
  farm.machine.readout_joined(node(0), Incarnation(2), farm.now.mono);
  CHECK_FALSE(farm.machine.absences().covers(node(0), SliceOrder(3)));
  CHECK(farm.machine.absences().covers(node(0), SliceOrder(2)));
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("a readout that is expected later is absent until it joins") {
  SupervisorMachine machine(small_farm(), make_trigger_source(mode("network")).value(),
                            make_policy("credits").value());
  machine.expect_later(readout(1));
  Actions actions;
  const Now now{1000, 1000};
  machine.start(now);
  REQUIRE(machine.offer({std::nullopt, {}, {}}, now, actions).taken);
  CHECK(machine.absences().covers(node(1), SliceOrder(0)));
  machine.readout_joined(node(1), Incarnation(1), now.mono);
  CHECK(machine.absences().covers(node(1), SliceOrder(0)));
  CHECK_FALSE(machine.absences().covers(node(1), SliceOrder(1)));
}

TEST_CASE("a writer that drains gets no confirmation, and leaves when its copies are acknowledged") {
  Farm farm(looking_at_once(), mode("max"));
  farm.join_dcm(0, 4);
  farm.join_writer(0);
  farm.join_writer(1);
  farm.pass();
  farm.decide(0, 0, 0, Verdict::accept);
  Actions actions = farm.pass();
  const NodeIndex first = actions.of(node(0)).confirm.front().writer;
  farm.machine.remove({Role::writer, first}, farm.now.mono);
  farm.decide(0, 1, 0, Verdict::accept);
  farm.decide(0, 2, 0, Verdict::accept);
  actions = farm.pass();
  CHECK_FALSE(leaves(actions, {Role::writer, first}));
  for (const Confirmation& confirmation : actions.of(node(0)).confirm) CHECK(confirmation.writer != first);
  farm.store(first.value, 0, 0, 0);
  farm.advance(1);
  actions = farm.pass();
  CHECK(leaves(actions, {Role::writer, first}));
  farm.machine.writer_left(first, farm.now.mono, farm.actions);
  CHECK(farm.machine.faults().empty());
}

TEST_CASE("when every writer drains accepts wait for the next one") {
  Farm farm(looking_at_once(), mode("max"));
  farm.join_dcm(0, 4);
  farm.join_writer(0);
  farm.pass();
  farm.machine.remove(writer(0), farm.now.mono);
  farm.decide(0, 0, 0, Verdict::accept);
  Actions actions = farm.pass();
  CHECK(actions.of(node(0)).confirm.empty());
  farm.machine.add(writer(1), farm.now.mono, farm.actions);
  farm.join_writer(1);
  actions = farm.pass();
  REQUIRE(actions.of(node(0)).confirm.size() == 1);
  CHECK(actions.of(node(0)).confirm.front().writer == node(1));
}

TEST_CASE("a writer with a dead copy is notified before it leaves") {
  Farm farm(looking_at_once(), mode("max"));
  farm.join_dcm(0, 4);
  farm.join_writer(0);
  farm.pass();
  farm.decide(0, 0, 0, Verdict::accept);
  farm.pass();
  farm.machine.dcm_left(node(0), farm.now.mono, farm.actions);  // the copy may be on disk, or not
  farm.machine.remove(writer(0), farm.now.mono);
  farm.join_dcm(1, 2);
  farm.advance(1);
  CHECK_FALSE(leaves(farm.pass(), writer(0)));
  farm.decide(1, 0, 1, Verdict::reject);
  farm.advance(1);
  const Actions actions = farm.pass();
  CHECK(actions.cleared.size() == 1);
  CHECK(leaves(actions, writer(0)));
}

TEST_CASE("a full writer is avoided, and triggers are held up only when none has room") {
  Farm farm(small_farm(), mode("network"));
  farm.join_dcm(0, 8);
  farm.join_writer(0);
  farm.join_writer(1);
  farm.machine.throttle(Role::writer, node(0), true, "WRITER_DISK_FULL");
  CHECK(farm.machine.throttled_by().empty());
  for (std::uint64_t slice = 0; slice < 4; ++slice) {
    REQUIRE(farm.offer(std::nullopt).taken);
    farm.pass();
    farm.decide(0, slice, 0, Verdict::accept);
    Actions actions = farm.pass();
    REQUIRE(actions.of(node(0)).confirm.size() == 1);
    CHECK(actions.of(node(0)).confirm.front().writer == node(1));
  }
  farm.machine.throttle(Role::writer, node(1), true, "WRITER_DISK_FULL");
  CHECK(farm.offer(std::nullopt).reason == VetoReason::throttled);
  CHECK(farm.machine.throttled_by().size() == 2);
  farm.machine.throttle(Role::writer, node(0), false, "");
  CHECK(farm.offer(std::nullopt).taken);
}

TEST_CASE("a draining node does not hold up triggers") {
  Farm farm(small_farm(), mode("network"));
  farm.machine.readout_joined(node(0), Incarnation(1), farm.now.mono);
  farm.machine.throttle(Role::readout, node(0), true, "READOUT_BUFFER_BYTES");
  CHECK(farm.offer(std::nullopt).reason == VetoReason::throttled);
  farm.machine.remove(readout(0), farm.now.mono);
  CHECK(farm.offer(std::nullopt).taken);
}

TEST_CASE("in push running nothing new is pushed to a DCM that drains") {
  SupervisorSettings settings = looking_at_once();
  settings.push = true;
  Farm farm(settings, mode("network"));
  farm.join_dcm(0, 4);
  farm.join_dcm(1, 4);
  REQUIRE(farm.offer(std::nullopt).taken);
  farm.machine.remove(dcm(0), farm.now.mono);
  for (int i = 0; i < 3; ++i) {
    const OfferResult offered = farm.offer(std::nullopt);
    REQUIRE(offered.taken);
    CHECK(farm.machine.destinations().of(offered.slice) == node(1));
  }
  farm.machine.add(dcm(0), farm.now.mono, farm.actions);
  CHECK(farm.machine.destinations().width() == 2);
}
