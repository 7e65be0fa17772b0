// A supervisor that freezes in a run, on simulated time.
#include "healthy_farm.hpp"
#include "weir_catch.hpp"
#include <weir/control/frozen.hpp>

#include <optional>

namespace weir::control {
namespace {

using namespace test;
using Catch::Matchers::ContainsSubstring;

constexpr DurationNs kReturn = 30 * kSecond;
constexpr int kSilence = 5;  // s, after which it is missed

ProcessLook stopped() {
  ProcessLook one;
  one.same_starter = one.stopped = true;
  return one;
}
ProcessLook hung() {
  ProcessLook one;
  one.same_starter = true;
  one.waits = 812;
  return one;
}

// Returns after how many seconds of silence it is ended; nullopt: not in 100 s.
template <typename Look>
std::optional<int> ended_after(const Look& look, bool resumes = true) {
  FrozenSupervisor frozen(kReturn);
  for (int s = kSilence; s < 100; ++s) {
    frozen.look(look(s), s * kSecond, resumes, s * kSecond);
    if (!frozen.ends_now()) continue;
    for (int more = s + 1; more < 100; ++more) {
      frozen.look(look(more), more * kSecond, resumes, more * kSecond);
      CHECK(!frozen.ends_now());  // once
    }
    return s;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("a stopped or hung supervisor is ended in the middle of the time for which its run waits") {
  CHECK(ended_after([](int) { return stopped(); }) == 15);
  CHECK(ended_after([](int) { return hung(); }) == 15);
  // Its loop ran for the first 20 s: it was cut off until then.
  CHECK(ended_after([](int s) {
          ProcessLook one = hung();
          one.waits = static_cast<std::uint64_t>(std::min(s, 20));
          return one;
        }) == 25);
}

TEST_CASE("a supervisor is left alone that runs, is traced, waits for a disk, or would not be replaced") {
  CHECK(!ended_after([](int s) {
    ProcessLook one = hung();
    one.waits = static_cast<std::uint64_t>(s);  // cut off
    return one;
  }));
  CHECK(!ended_after([](int) {
    ProcessLook one = hung();
    one.waits.reset();  // unknown
    return one;
  }));
  for (const auto& base : {stopped(), hung()}) {
    CHECK(!ended_after([&](int) {
      ProcessLook one = base;
      one.traced = true;
      return one;
    }));
    CHECK(!ended_after([&](int) {
      ProcessLook one = base;
      one.same_starter = false;
      return one;
    }));
    CHECK(!ended_after([&](int) { return base; }, false));
  }
  CHECK(!ended_after([](int) {
    ProcessLook one = hung();
    one.in_disk = true;
    return one;
  }));
}

TEST_CASE("a supervisor that is heard again gets its whole time when it freezes anew") {
  FrozenSupervisor frozen(kReturn);
  frozen.look(stopped(), 20 * kSecond, true, 20 * kSecond);
  CHECK(frozen.ends_now());
  frozen.clear();
  frozen.look(stopped(), 6 * kSecond, true, 40 * kSecond);
  CHECK(!frozen.ends_now());
  CHECK(frozen.freeze().end_in_ns == 9 * kSecond);
  frozen.look(stopped(), 15 * kSecond, true, 49 * kSecond);
  CHECK(frozen.ends_now());
}

TEST_CASE("the headline says that the supervisor is frozen, and when run control ends it") {
  HealthView view = running();
  lose(view, "supervisor", 8 * kSecond);
  of(view, "supervisor").freeze = {Freeze::Kind::stopped, 7 * kSecond};
  CHECK_THAT(
      sentence(health_of(view)[0]),
      ContainsSubstring("no supervisor: no slice is triggered or assigned: supervisor (not heard, "
                        "stopped by a signal; run control ends it, and its successor resumes the run)"));
  of(view, "supervisor").freeze.end_in_ns = 0;
  CHECK_THAT(sentence(health_of(view)[0]), ContainsSubstring("; run control has ended it, and"));
  of(view, "supervisor").freeze = {Freeze::Kind::traced, {}};
  CHECK_THAT(sentence(health_of(view)[0]), ContainsSubstring("(not heard, held by a debugger)"));
  // It also leads when other processes report faults at once.
  for (const auto& [name, hold_of] :
       {std::pair{"writer-0", "WRITER_DISK_FULL"}, {"dcm-0", "FILTER_TOO_SLOW"}}) {
    hold(view, name, Hold::blocked, hold_of, name);
    hold(view, "writer-1", Hold::blocked, hold_of, "writer-1");
    CHECK(health_of(view)[0].word == "no supervisor");
  }
  lose(view, "readout-0");
  CHECK(health_of(view)[0].word == "no supervisor");
  // Back again, its end is told in run control's words.
  view = running();
  of(view, "supervisor").deaths = 1;
  of(view, "supervisor").last_end = "killed by run control: stopped by a signal, silent for 15 s";
  CHECK_THAT(sentence(health_of(view)[0]),
             ContainsSubstring("processes die: supervisor (1 time: killed by run control: stopped"));
}

}  // namespace weir::control
