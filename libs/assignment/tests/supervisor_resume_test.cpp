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
    "after a restart a copy that was given up is still dead, and any other of a forgotten slice lives") {
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
    const StoredAck ack{SliceId(0), Attempt(0), StoreEpoch(epoch)};
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
