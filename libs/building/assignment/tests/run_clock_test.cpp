#include "broken_invariant.hpp"
#include "weir_catch.hpp"
#include <weir/assignment/run_clock.hpp>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr DurationNs kDuration = 10 * kSecond;
constexpr DurationNs kDrain = 3 * kSecond;
constexpr Now kBegin{kSecond, 1'700'000'000 * kSecond};

RunClock started_clock() {
  RunClock clock(kDuration, kDrain);
  clock.start(kBegin);
  return clock;
}

TimeNs after(DurationNs ns) { return kBegin.mono + ns; }

}  // namespace

TEST_CASE("a run waits, triggers, finishes and stops, and each phase is entered once") {
  RunClock clock(kDuration, kDrain);
  CHECK(clock.phase() == RunPhase::waiting);
  CHECK_FALSE(clock.started());
  clock.start(kBegin);
  CHECK(clock.phase() == RunPhase::triggering);
  CHECK_FALSE(clock.triggers_done());
  clock.end_triggers();
  CHECK(clock.phase() == RunPhase::finishing);
  CHECK(clock.triggers_done());
  clock.end_triggers();
  CHECK(clock.phase() == RunPhase::finishing);
  clock.stop(after(kSecond));
  clock.stop(after(2 * kSecond));
  clock.end_triggers();
  CHECK(clock.phase() == RunPhase::stopping);
  CHECK(clock.drains_until() == after(kSecond) + kDrain);
}

TEST_CASE("a stopped run makes no more triggers, whatever was due") {
  RunClock clock = started_clock();
  clock.stop(after(kSecond));
  CHECK(clock.triggers_done());
}

TEST_CASE("a run triggers for its duration, without its pauses") {
  RunClock clock = started_clock();
  CHECK(clock.triggers_until(after(kSecond)) == after(kDuration));
  clock.pause(after(2 * kSecond));
  CHECK(clock.triggers_until(after(3 * kSecond)) == INT64_MAX);
  CHECK_FALSE(clock.triggered_long_enough(after(kDuration)));
  clock.continue_run(after(7 * kSecond));
  CHECK(clock.paused_ns(after(kDuration)) == 5 * kSecond);
  CHECK(clock.triggers_until(after(kDuration)) == after(kDuration + 5 * kSecond));
  CHECK_FALSE(clock.triggered_long_enough(after(kDuration + 5 * kSecond) - 1));
  CHECK(clock.triggered_long_enough(after(kDuration + 5 * kSecond)));
}

TEST_CASE("a run without a duration never triggered for long enough") {
  RunClock clock(0, kDrain);
  clock.start(kBegin);
  CHECK(clock.triggers_until(after(kSecond)) == INT64_MAX);
  CHECK_FALSE(clock.triggered_long_enough(after(1000 * kSecond)));
}

TEST_CASE("a pause before the run begins counts from its beginning") {
  RunClock clock(kDuration, kDrain);
  clock.pause(0);
  CHECK(clock.paused_ns(kBegin.mono) == 0);
  clock.start(kBegin);
  CHECK(clock.paused());
  CHECK(clock.paused_ns(after(kSecond)) == kSecond);
}

TEST_CASE("a pause and its end change the number once each, and repetitions do not") {
  RunClock clock = started_clock();
  const std::uint32_t before = clock.number();
  clock.continue_run(after(1));
  CHECK(clock.number() == before);
  clock.pause(after(2));
  clock.pause(after(3));
  CHECK(clock.number() == before + 1);
  CHECK(clock.paused_ns(after(4)) == 2);  // since the first
  clock.continue_run(after(5));
  CHECK(clock.number() == before + 2);
}

TEST_CASE("a stop ends a pause, and a run that stops is not paused again") {
  RunClock clock = started_clock();
  clock.pause(after(kSecond));
  clock.stop(after(3 * kSecond));
  CHECK_FALSE(clock.paused());
  clock.pause(after(4 * kSecond));
  CHECK_FALSE(clock.paused());
  CHECK(clock.paused_ns(after(5 * kSecond)) == 2 * kSecond);
}

TEST_CASE("a stopping run drains while a slice is settled within each drain time") {
  RunClock clock = started_clock();
  CHECK_FALSE(clock.drained_too_long(after(1000 * kSecond)));  // it does not stop
  const TimeNs stop = after(1000 * kSecond);
  clock.stop(stop);
  CHECK_FALSE(clock.drained_too_long(stop + kDrain - 1));
  clock.slice_settled();
  CHECK_FALSE(clock.drained_too_long(stop + kDrain));
  CHECK(clock.drains_until() == stop + 2 * kDrain);
  CHECK_FALSE(clock.drained_too_long(stop + 2 * kDrain - 1));
  CHECK(clock.drained_too_long(stop + 2 * kDrain));
}

TEST_CASE("another supervisor process resumes with the run's times and pauses") {
  RunClock clock = started_clock();
  const UtcNs begun = kBegin.utc - 4 * kSecond;
  clock.resume(4 * kSecond, begun, true, kSecond);
  CHECK(clock.begun().mono == kBegin.mono - 4 * kSecond);
  CHECK(clock.begun().utc == begun);
  CHECK(clock.paused());
  CHECK(clock.paused_ns(after(2 * kSecond)) == 3 * kSecond);
  clock.continue_run(after(2 * kSecond));
  CHECK(clock.triggers_until(after(2 * kSecond)) == after(kDuration - 4 * kSecond + 3 * kSecond));
}

TEST_CASE("phase, pause and the rest of the duration are in the state for searches") {
  const auto state = [](const RunClock& clock, TimeNs now) {
    std::vector<std::uint64_t> row;
    clock.append_state(now, row);
    return row;
  };
  RunClock clock = started_clock();
  const auto first = state(clock, after(0));
  CHECK(state(clock, after(1)) != first);
  clock.pause(after(1));
  const auto paused = state(clock, after(1));
  CHECK(state(clock, after(5)) == paused);  // its time does not advance
  clock.continue_run(after(5));
  CHECK(state(clock, after(5)) != paused);
  clock.end_triggers();
  CHECK(state(clock, after(5)) == state(clock, after(6)));  // its time does not count any more
  RunClock endless(0, kDrain);
  endless.start(kBegin);
  CHECK(state(endless, after(0)) == state(endless, after(kSecond)));
  const auto triggers = state(endless, after(0));
  endless.end_triggers();
  CHECK(state(endless, after(0)) != triggers);
}

TEST_CASE("a drain ends at its limit, whatever is settled, and a later stop can only shorten it") {
  RunClock clock = started_clock();
  clock.stop(after(kSecond), 10 * kSecond);
  for (int second = 2; second < 11; ++second) {
    clock.slice_settled();
    CHECK_FALSE(clock.drained_too_long(after(second * kSecond)));
  }
  clock.slice_settled();
  CHECK(clock.drained_too_long(after(11 * kSecond)));

  RunClock other = started_clock();
  other.stop(after(kSecond));
  other.slice_settled();
  CHECK_FALSE(other.drained_too_long(after(2 * kSecond)));
  other.stop(after(2 * kSecond), kSecond);
  other.stop(after(2 * kSecond), 100 * kSecond);
  CHECK(other.drains_until() == after(3 * kSecond));
  other.slice_settled();
  CHECK(other.drained_too_long(after(3 * kSecond)));
}

TEST_CASE("a run begins once") {
  const auto broken = [] {
    RunClock clock = started_clock();
    clock.start(kBegin);
  };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: kPhaseTransitions.allow(phase_, phase)"));
}
