#include "model_farm.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::assignment;
using weir::assignment::test::Farm;
using weir::assignment::test::small_farm;

namespace {

TriggerSettings clock_triggers() {
  TriggerSettings settings;
  settings.mode = "clock";
  settings.slice_ns = 10 * kMillisecond;
  return settings;
}

// Three DCMs with two credits each, and a slice every 10 ms.
Farm push_farm() {
  SupervisorSettings settings = small_farm();
  settings.push = true;
  Farm farm(settings, clock_triggers());
  for (std::uint16_t dcm = 0; dcm < 3; ++dcm) farm.join_dcm(dcm, 2);
  farm.join_writer(0);
  return farm;
}

}  // namespace

TEST_CASE("in push running slice s is assigned to DCM s mod N together with its announcement") {
  Farm farm = push_farm();
  for (int pass = 0; pass < 5; ++pass) {
    const Actions actions = farm.pass();
    for (const Announcement& announced : actions.announce) {
      const NodeIndex dcm(static_cast<std::uint16_t>(announced.slice.value % 3));
      CHECK(farm.machine.destinations().of(announced.slice) == dcm);
      REQUIRE(actions.dcms[dcm.value].assign.size() == 1);
      CHECK(actions.dcms[dcm.value].assign[0].slice == announced.slice);
    }
    farm.advance(10 * kMillisecond);
  }
  CHECK(farm.machine.ledger().triggered.count == 5);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("a slice is vetoed if its DCM has no free credit, and the others continue") {
  Farm farm = push_farm();
  for (int pass = 0; pass < 6; ++pass) {
    (void)farm.pass();
    farm.advance(10 * kMillisecond);
  }
  CHECK(farm.machine.ledger().triggered.count == 6);  // two each
  farm.decide(1, 1, 0, Verdict::reject);
  for (int pass = 0; pass < 3; ++pass) {
    (void)farm.pass();
    farm.advance(10 * kMillisecond);
  }
  CHECK(farm.machine.ledger().triggered.count == 7);
  CHECK(farm.vetoed(VetoReason::busy_pending) == 2);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("when a DCM leaves, later slices have destinations without it and its own go to others") {
  Farm farm = push_farm();
  for (int pass = 0; pass < 3; ++pass) {
    (void)farm.pass();
    farm.advance(10 * kMillisecond);
  }
  const std::uint32_t before = farm.machine.destinations().number();
  farm.machine.dcm_left(NodeIndex(1), farm.now.mono, farm.actions);
  CHECK(farm.machine.destinations().number() == before + 1);
  const Actions actions = farm.pass();
  CHECK(farm.machine.destinations().of(SliceId(1)) == NodeIndex(1));  // announced destinations do not change
  CHECK(farm.machine.destinations().of(SliceId(3)) == NodeIndex(2));
  CHECK(farm.machine.destinations().of(SliceId(4)) == NodeIndex(0));
  bool reopened = false;
  for (const DcmActions& dcm : actions.dcms) {
    for (const Assignment& assignment : dcm.assign)
      reopened = reopened || (assignment.slice == SliceId(1) && assignment.attempt == Attempt(1));
  }
  CHECK(reopened);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("triggers as fast as credits allow do not run ahead of the destinations' credits") {
  SupervisorSettings settings = small_farm();
  settings.push = true;
  Farm farm(settings);  // mode max
  for (std::uint16_t dcm = 0; dcm < 3; ++dcm) farm.join_dcm(dcm, 2);
  (void)farm.pass();
  CHECK(farm.machine.ledger().triggered.count == 6);
  CHECK(farm.machine.ledger().vetoed_total() == 0);
  CHECK(farm.machine.pending() == 0);
}
