#include "model_farm.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::assignment;
using weir::assignment::test::Farm;
using weir::assignment::test::node;
using weir::assignment::test::small_farm;

namespace {

TriggerSettings rate(double hz) {
  TriggerSettings settings;
  settings.mode = "rate";
  settings.rate_hz = hz;
  return settings;
}

TriggerSettings network() {
  TriggerSettings settings;
  settings.mode = "network";
  return settings;
}

}  // namespace

TEST_CASE("mode max triggers as much as there is room for, and vetoes none") {
  Farm farm(small_farm());
  CHECK(farm.pass().announce.size() == 4);  // no DCM builds: only the pending list fills
  CHECK(farm.pass().announce.empty());
  farm.join_dcm(0, 3);
  const Actions actions = farm.pass();
  CHECK(actions.dcms[0].assign.size() == 3);
  CHECK(actions.announce.size() == 3);
  CHECK(farm.machine.ledger().offered == 7);
  CHECK(farm.machine.ledger().vetoed_total() == 0);
  farm.join_dcm(1, 1000);
  farm.pass();
  CHECK(farm.machine.in_flight() == 16);  // bounded, whatever the credits
  CHECK(farm.machine.ledger().vetoed_total() == 0);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("mode max fills all credits in one pass, even if more are free than may be pending") {
  SupervisorSettings settings = small_farm();
  settings.in_flight_max = 1000;
  Farm farm(settings);
  farm.join_dcm(0, 100);
  farm.pass();
  CHECK(farm.machine.dcms()[0].credits_free == 0);
  CHECK(farm.machine.pending() == 4);
}

TEST_CASE("rate triggers that find no room are vetoed by reason, and offered equals triggered plus vetoed") {
  SupervisorSettings settings = small_farm();
  settings.in_flight_max = 6;
  Farm farm(settings, rate(1000));
  farm.advance(9 * kMillisecond);
  farm.pass();
  CHECK(farm.machine.ledger().offered == 10);
  CHECK(farm.machine.ledger().triggered.count == 4);
  CHECK(farm.vetoed(VetoReason::busy_pending) == 6);
  farm.join_dcm(0, 100);
  farm.advance(10 * kMillisecond);
  farm.pass();
  CHECK(farm.machine.ledger().triggered.count == 6);
  CHECK(farm.vetoed(VetoReason::in_flight) == 8);
  CHECK(farm.machine.ledger().offered == 20);
}

TEST_CASE("after a long stall the triggers in between are vetoed, not piled up") {
  Farm farm(small_farm(), rate(1000));
  farm.pass();
  farm.advance(3600 * kSecond);
  CHECK(farm.pass().announce.size() == 3);
  CHECK(farm.vetoed(VetoReason::stalled) == 3'599'000 - 1);
  CHECK(farm.vetoed(VetoReason::busy_pending) == 1001 - 3);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("a throttled node stops the triggers, with a reason, until it lets go or leaves") {
  Farm farm(small_farm(), rate(1000));
  farm.join_dcm(0, 100);
  farm.machine.readout_joined(NodeIndex(1), Incarnation(1), 0);
  farm.machine.throttle(Role::readout, NodeIndex(1), true, "readout_buffer_full");
  farm.pass();
  CHECK(farm.vetoed(VetoReason::throttled) == 1);
  REQUIRE(farm.machine.throttled_by().size() == 1);
  CHECK(farm.machine.throttled_by()[0].reason == "readout_buffer_full");
  farm.machine.readout_left(NodeIndex(1), 0);
  CHECK(farm.machine.throttled_by().empty());
  farm.advance(kMillisecond);
  CHECK(farm.pass().announce.size() == 1);
  farm.machine.throttle(Role::readout, NodeIndex(1), true, "from one that is not there");
  CHECK(farm.machine.throttled_by().empty());
  CHECK(farm.machine.ledger().strangers == 1);
}

TEST_CASE("an external trigger is accepted with its own id or the next one, with its type and payload") {
  Farm farm(small_farm(), network());
  farm.join_dcm(0, 10);
  const std::byte payload[2] = {std::byte{0xab}, std::byte{0xcd}};
  const OfferResult named = farm.offer(SliceId(40), payload);
  CHECK(named.taken);
  CHECK(named.slice == SliceId(40));
  CHECK(farm.offer(std::nullopt).slice == SliceId(41));
  CHECK(farm.offer(SliceId(7)).slice == SliceId(7));
  CHECK(farm.offer(std::nullopt).slice == SliceId(42));
  const Actions actions = farm.pass();
  REQUIRE(actions.dcms[0].assign.size() == 4);
  const Assignment& first = actions.dcms[0].assign[0];
  CHECK(first.slice == SliceId(40));
  CHECK(first.info.type == TriggerType(7));
  CHECK(first.info.time == farm.now.utc);
  REQUIRE(actions.payload_of(first).size() == 2);
  CHECK(actions.payload_of(first)[1] == std::byte{0xcd});
  CHECK(actions.payload_of(actions.dcms[0].assign[1]).empty());
}

TEST_CASE("a trigger from outside that cannot be taken is answered with the reason") {
  SupervisorSettings settings = small_farm();
  settings.payload_max = 2;
  Farm farm(settings, network());
  CHECK(farm.offer(SliceId(1)).taken);
  CHECK(farm.offer(SliceId(1)).reason == VetoReason::duplicate_id);
  CHECK(farm.offer(SliceId(UINT64_MAX)).reason == VetoReason::bad_id);
  CHECK(farm.offer(kSliceIdNamedMax.next()).reason == VetoReason::bad_id);
  CHECK(farm.offer(kSliceIdNamedMax).taken);
  CHECK(farm.machine.ledger().vetoed[static_cast<std::size_t>(VetoReason::bad_id)] == 2);
  const std::byte payload[3] = {};
  CHECK(farm.offer(SliceId(2), payload).reason == VetoReason::too_large);
  CHECK(farm.offer(SliceId(2)).taken);
  CHECK(farm.offer(SliceId(3)).taken);
  CHECK(farm.offer(SliceId(4)).reason == VetoReason::busy_pending);
  farm.machine.request_stop(farm.now.mono);
  CHECK(farm.offer(SliceId(5)).reason == VetoReason::draining);
  CHECK(farm.machine.broken_invariant() == "");

  Farm closed(small_farm());
  CHECK(closed.offer(SliceId(1)).reason == VetoReason::closed);
  CHECK(closed.machine.broken_invariant() == "");
}

namespace {

// Settles every waiting slice, so that only the memory of ids has it.
void reject_all(Farm& farm) {
  Actions actions = farm.pass();
  for (const Assignment& one : actions.of(node(0)).assign)
    farm.decide(0, one.slice.value, one.attempt.value, Verdict::reject);
  farm.pass();
  REQUIRE(farm.machine.in_flight() == 0);
}

}  // namespace

TEST_CASE("an id is given once in a run, however long ago and in whatever order") {
  Farm farm(small_farm(), network());
  farm.join_dcm(0, 10);
  std::vector<std::uint64_t> ids;
  const std::string order = GENERATE("dense", "sparse", "descending", "shuffled");
  CAPTURE(order);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    if (order == "dense") ids.push_back(i);
    if (order == "sparse") ids.push_back(i << 16U);
    if (order == "descending") ids.push_back(10'000 - i);
    if (order == "shuffled") ids.push_back((i * 7919) % 3001);
  }
  for (const std::uint64_t id : ids) {
    REQUIRE(farm.offer(SliceId(id)).taken);
    reject_all(farm);
  }
  for (const std::uint64_t id : ids) REQUIRE(farm.offer(SliceId(id)).reason == VetoReason::duplicate_id);
  CHECK(farm.machine.ledger().triggered.count == ids.size());
  // The next process of the supervisor vetoes them as well, and takes the ids between them.
  SupervisorMachine next(small_farm(), make_trigger_source(network()).value(),
                         make_policy("credits").value());
  Actions actions;
  next.resume(farm.machine.state(farm.now.mono), kMillisecond, farm.now, actions);
  for (const std::uint64_t id : ids)
    REQUIRE(next.offer({SliceId(id), {}, {}}, farm.now, actions).reason == VetoReason::duplicate_id);
  CHECK(next.offer({SliceId(order == "sparse" ? 5 : 20'000), {}, {}}, farm.now, actions).taken);
  CHECK(next.broken_invariant() == "");
}

TEST_CASE("an id beyond the interval limit is vetoed, a fault, and none is forgotten") {
  SupervisorSettings settings = small_farm();
  settings.id_intervals_max = 3;
  Farm farm(settings, network());
  farm.join_dcm(0, 10);
  for (const std::uint64_t id : {100, 300, 200}) {
    REQUIRE(farm.offer(SliceId(id)).taken);
    reject_all(farm);
  }
  CHECK(describe_losses(farm.machine.ledger()).empty());
  CHECK(farm.offer(SliceId(400)).reason == VetoReason::id_memory_full);
  CHECK(farm.offer(SliceId(100)).reason == VetoReason::duplicate_id);
  CHECK(farm.offer(SliceId(201)).taken);
  CHECK(farm.offer(std::nullopt).slice == SliceId(301));
  CHECK(farm.vetoed(VetoReason::id_memory_full) == 1);
  CHECK(describe_losses(farm.machine.ledger()).size() == 1);
  CHECK(reconcile(farm.machine.ledger(), {}, {}, {}, {}).faults);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("if slices are pushed or released by id, an id below an earlier one is vetoed") {
  SupervisorSettings settings = small_farm();
  const bool push = GENERATE(true, false);
  settings.push = push;
  settings.ids_ascend = !push;
  Farm farm(settings, network());
  farm.join_dcm(0, 10);
  CHECK(farm.offer(SliceId(40)).taken);
  CHECK(farm.offer(SliceId(40)).reason == VetoReason::duplicate_id);
  CHECK(farm.offer(SliceId(39)).reason == VetoReason::not_ascending);
  CHECK(farm.offer(SliceId(90)).taken);
}

TEST_CASE("a trigger with the highest nameable id leaves ids for triggers without one") {
  Farm farm(small_farm(), network());
  CHECK(farm.offer(kSliceIdNamedMax).taken);
  CHECK(farm.offer(std::nullopt).slice == kSliceIdNamedMax.next());
  CHECK_FALSE(farm.machine.triggers_done());
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("a run without slice ids left ends after one veto, whichever client offers its triggers") {
  SupervisorSettings settings = small_farm();
  settings.first_slice = kSliceIdMax;
  for (const bool from_outside : {false, true}) {
    INFO(from_outside);
    Farm farm = from_outside ? Farm(settings, network()) : Farm(settings);
    if (from_outside) {
      CHECK(farm.offer(std::nullopt).slice == kSliceIdMax);
      CHECK(farm.offer(std::nullopt).reason == VetoReason::bad_id);
    } else {
      CHECK(farm.pass().announce.size() == 1);
    }
    CHECK(farm.machine.ids_used_up());
    CHECK(farm.machine.triggers_done());
    CHECK(farm.machine.ledger().vetoed[static_cast<std::size_t>(VetoReason::bad_id)] == 1);
    if (from_outside) CHECK(farm.offer(std::nullopt).reason == VetoReason::draining);
    CHECK(farm.machine.broken_invariant() == "");
  }
}

TEST_CASE("triggering ends with the number of slices, with the duration, and with the file") {
  SupervisorSettings settings = small_farm();
  settings.slices_max = 3;
  Farm counted(settings);
  CHECK(counted.pass().announce.size() == 3);
  CHECK(counted.machine.triggers_done());
  CHECK_FALSE(counted.machine.drained());

  settings = small_farm();
  settings.duration_ns = 2 * kMillisecond;
  Farm timed(settings, rate(1000));
  timed.pass();
  CHECK(timed.machine.next_wakeup(timed.now) == timed.now.mono + kMillisecond);
  timed.advance(2 * kMillisecond);
  CHECK(timed.pass().announce.empty());
  CHECK(timed.machine.triggers_done());

  TriggerSettings file;
  file.mode = "file";
  file.file = parse_trigger_file("10 5\n12 6 4 ff\n", "x").value();
  Farm listed(small_farm(), file);
  const Actions actions = listed.pass();
  REQUIRE(actions.announce.size() == 2);
  CHECK(actions.announce[1].slice == SliceId(12));
  CHECK(actions.announce[1].info.time == 6);
  CHECK(listed.machine.triggers_done());
}

TEST_CASE("the static policy does not let one full DCM hold up the others") {
  SupervisorSettings settings = small_farm();
  settings.dcms = 2;
  Farm farm(settings, {}, "static");
  farm.join_dcm(0, 1);
  farm.join_dcm(1, 3);
  const Actions actions = farm.pass();
  CHECK(actions.dcms[0].assign.size() == 1);
  CHECK(actions.dcms[1].assign.size() >= 2);
  for (const Assignment& assignment : actions.dcms[1].assign) CHECK(assignment.slice.value % 2 == 1);
  CHECK(farm.machine.broken_invariant() == "");
}

namespace {

SupervisorSettings replaying(bool by_number) {
  SupervisorSettings settings = small_farm();
  std::vector<RecordedTrigger> triggers;
  triggers.push_back({SliceId(509), {900, 100, TriggerType(3)}, {std::byte{7}}});
  triggers.push_back({SliceId(512), {1200, 50, TriggerType()}, {}});
  settings.recorded = std::make_shared<RecordedTriggers>(std::move(triggers), by_number);
  return settings;
}

}  // namespace

TEST_CASE("a recording that is looped gives slice k the time, length, type and payload of slice k mod n") {
  Farm farm(replaying(false));
  const Actions actions = farm.pass();
  REQUIRE(actions.announce.size() == 4);
  for (std::size_t k = 0; k < 4; ++k) {
    const Announcement& one = actions.announce[k];
    CHECK(one.slice == SliceId(k));
    CHECK(one.info.time == (k % 2 == 0 ? 900 : 1200));
    CHECK(one.info.duration == (k % 2 == 0 ? 100 : 50));
    CHECK(one.info.type == TriggerType(k % 2 == 0 ? 3 : 0));
    CHECK(actions.payload_of(one).size() == (k % 2 == 0 ? 1 : 0));
  }
  CHECK_FALSE(farm.machine.recording_is_over());
}

TEST_CASE(
    "a recording that is replayed once keeps its numbers, and ends the triggers behind its last slice") {
  for (const bool paced : {false, true}) {
    Farm farm(replaying(true), paced ? rate(1000) : TriggerSettings{});
    farm.advance(9 * kMillisecond);
    const Actions actions = farm.pass();
    REQUIRE(actions.announce.size() == 2);
    CHECK(actions.announce[0].slice == SliceId(509));
    CHECK(actions.announce[1].slice == SliceId(512));
    CHECK(actions.announce[1].info.time == 1200);
    CHECK(farm.machine.triggers_done());
    CHECK(farm.machine.recording_is_over());
    CHECK(farm.machine.ledger().offered == 2);
    CHECK(farm.machine.broken_invariant() == "");
  }
  SupervisorSettings later = replaying(true);
  later.first_slice = SliceId(510);
  Farm farm(later);
  const Actions actions = farm.pass();
  REQUIRE(actions.announce.size() == 1);
  CHECK(actions.announce[0].slice == SliceId(512));
}

TEST_CASE(
    "triggers made now have the time of a replay's newest slice, also after a restart, or the clock's") {
  Farm clock(small_farm());
  CHECK(clock.machine.trigger_time(77) == 77);
  const bool by_number = GENERATE(false, true);
  CAPTURE(by_number);
  const SupervisorSettings settings = replaying(by_number);
  Farm farm(settings);
  CHECK_FALSE(farm.machine.trigger_time(77));  // no slice yet
  REQUIRE_FALSE(farm.pass().announce.empty());
  CHECK(farm.machine.trigger_time(77) == 1200);
  SupervisorMachine next(settings, make_trigger_source({}).value(), make_policy("credits").value());
  Actions actions;
  next.resume(farm.machine.state(farm.now.mono), kMillisecond, farm.now, actions);
  CHECK(next.trigger_time(77) == 1200);
}
