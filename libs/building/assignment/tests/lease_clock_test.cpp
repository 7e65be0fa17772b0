#include "weir_catch.hpp"
#include <weir/assignment/lease_clock.hpp>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr NodeIndex kDcm{0};
constexpr NodeIndex kWriter{0};
constexpr NodeIndex kOtherWriter{1};
const LeaseTimes kTimes{1000, 100, 50};
constexpr GroupIndex kFirst{0};
constexpr TimeNs kNow = 10'000;

struct Setup {
  LeaseClock clock{kTimes};
  DcmTable dcms{1};
  NodeTable writers{2};

  Setup() {
    dcms.join(kDcm, Incarnation(1), 4);
    writers.join(kWriter, Incarnation(1));
    writers.join(kOtherWriter, Incarnation(1));
  }
  // A look at a single entry.
  bool run_out(const SliceEntry& entry, TimeNs now) {
    clock.begin_look();
    return clock.run_out(entry, dcms, writers, now);
  }
};

SliceEntry assigned() {
  SliceEntry entry;
  entry.slice = SliceId(7);
  entry.state = SliceState::assigned;
  entry.dcm = kDcm;
  entry.since = kNow;
  return entry;
}

SliceEntry confirmed(std::uint16_t confirmations) {
  SliceEntry entry = assigned();
  entry.state = SliceState::confirmed;
  entry.writer = kWriter;
  entry.confirmations = confirmations;
  return entry;
}

}  // namespace

TEST_CASE("no lease ends before the first deadline of an assignment, confirmation or note") {
  LeaseClock clock(kTimes);
  CHECK(clock.next_look() == INT64_MAX);
  clock.assigned(kFirst, kNow);
  CHECK(clock.next_look() == kNow + 1100);
  clock.noted(kFirst, kNow);
  CHECK(clock.next_look() == kNow + 500);
  clock.confirmed(confirmed(1), kNow);
  CHECK(clock.next_look() == kNow + 50);
  clock.assigned(kFirst, kNow + 1);
  CHECK(clock.next_look() == kNow + 50);
}

TEST_CASE("a group's own lease replaces the farm's for its slices, notes and first look") {
  constexpr GroupIndex kRemote{1};
  LeaseTimes times = kTimes;
  times.of_group = {0, 5000};
  Setup setup;
  setup.clock = LeaseClock(times);
  setup.clock.assigned(kRemote, kNow);
  CHECK(setup.clock.next_look() == kNow + 5100);
  setup.clock.noted(kRemote, kNow);
  CHECK(setup.clock.next_look() == kNow + 2500);
  setup.clock.assigned(kFirst, kNow);
  CHECK(setup.clock.next_look() == kNow + 1100);
  SliceEntry entry = assigned();
  CHECK(setup.run_out(entry, kNow + 1100));
  entry.group = kRemote;
  CHECK_FALSE(setup.run_out(entry, kNow + 5099));
  CHECK(setup.run_out(entry, kNow + 5100));
}

TEST_CASE("a lease runs out when its DCM has made no decision for its time and the data's") {
  Setup setup;
  CHECK_FALSE(setup.run_out(assigned(), kNow + 1099));
  CHECK(setup.clock.next_look() == kNow + 1100);
  CHECK(setup.run_out(assigned(), kNow + 1100));
  setup.dcms.decided(kDcm, kNow + 600);
  CHECK_FALSE(setup.run_out(assigned(), kNow + 1100));
  CHECK(setup.clock.next_look() == kNow + 1700);
}

TEST_CASE("a slice long in the filter runs out half a lease after the note, whatever is decided") {
  Setup setup;
  setup.dcms.note_filter(kDcm, {{{SliceId(7), Attempt(0)}}, std::nullopt}, kNow + 500);
  setup.dcms.decided(kDcm, kNow + 999);
  CHECK_FALSE(setup.run_out(assigned(), kNow + 999));
  CHECK(setup.run_out(assigned(), kNow + 1000));
}

TEST_CASE("a held, pending or settled slice has no lease") {
  Setup setup;
  SliceEntry entry = assigned();
  entry.held = true;
  CHECK_FALSE(setup.run_out(entry, kNow + 100'000));
  entry.held = false;
  entry.state =
      GENERATE(SliceState::empty, SliceState::pending, SliceState::waiting_writer, SliceState::settled);
  CHECK_FALSE(setup.run_out(entry, kNow + 100'000));
  CHECK(setup.clock.next_look() == INT64_MAX);
}

TEST_CASE("each further confirmation of a slice is waited for twice as long, up to a bound") {
  Setup setup;
  const auto patience = [&](std::uint16_t confirmations) {
    CHECK_FALSE(setup.run_out(confirmed(confirmations), kNow));
    return setup.clock.next_look() - kNow;
  };
  CHECK(patience(1) == 50);
  CHECK(patience(2) == 100);
  CHECK(patience(4) == 400);
  CHECK(patience(11) == 50 * 1024);
  CHECK(patience(UINT16_MAX) == 50 * 1024);
  CHECK(setup.run_out(confirmed(2), kNow + 100));
}

TEST_CASE("a confirmation waits and is checked again if no other writer is available") {
  Setup setup;
  setup.writers.leave(kOtherWriter);
  CHECK_FALSE(setup.run_out(confirmed(1), kNow + 50));
  CHECK(setup.clock.next_look() == kNow + 100);
  setup.writers.join(kOtherWriter, Incarnation(2));
  CHECK(setup.run_out(confirmed(1), kNow + 100));
}

TEST_CASE("without a limit for acknowledgements no confirmation runs out") {
  Setup setup;
  setup.clock = LeaseClock({1000, 100, 0});
  CHECK_FALSE(setup.run_out(confirmed(1), kNow + 1'000'000));
  setup.clock.confirmed(confirmed(1), kNow);
  CHECK(setup.clock.next_look() == INT64_MAX);
}

TEST_CASE("in the state for searches an expired lease is as old as its duration") {
  Setup setup;
  CHECK(setup.clock.age(assigned(), setup.dcms, kNow + 7) == 7);
  CHECK(setup.clock.age(assigned(), setup.dcms, kNow + 5000) == 1100);
  CHECK(setup.clock.age(confirmed(2), setup.dcms, kNow + 5000) == 100);
  SliceEntry pending = assigned();
  pending.state = SliceState::pending;
  CHECK(setup.clock.age(pending, setup.dcms, kNow + 7) == 0);
  const auto state = [&](TimeNs now) {
    std::vector<std::uint64_t> row;
    setup.clock.append_state(now, row);
    return row;
  };
  CHECK(state(kNow) == state(kNow + 1));
  setup.clock.assigned(kFirst, kNow);
  CHECK(state(kNow) != state(kNow + 1));
  CHECK(state(kNow + 1100) == state(kNow + 1200));
}
