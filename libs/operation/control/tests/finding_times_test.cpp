// The begin of findings, and that their texts stay the same while they last.
#include "healthy_farm.hpp"
#include "weir_catch.hpp"
#include <weir/control/finding_times.hpp>

namespace weir::control {
namespace {

using namespace test;

constexpr UtcNs kNoon = 1'000'000 * kSecond;

Finding lasting(const char* word, DurationNs time) { return {Gravity::warning, word, "a reason", time}; }

}  // namespace

TEST_CASE("a finding keeps its begin while it is present, and begins anew afterwards") {
  FindingTimes times;
  const Finding known = lasting("silent", 3 * kSecond);
  const Finding sudden{Gravity::error, "no DCM", "none"};
  CHECK(times.since(known, kNoon) == kNoon - 3 * kSecond);
  times.look({known, sudden}, kNoon);
  times.look({lasting("silent", 4 * kSecond), sudden}, kNoon + kSecond);
  CHECK(times.since(known, kNoon + kSecond) == kNoon - 3 * kSecond);
  CHECK(times.since(sudden, kNoon + kSecond) == kNoon);
  times.look({sudden}, kNoon + 2 * kSecond);
  times.look({lasting("silent", 0), sudden}, kNoon + 9 * kSecond);
  CHECK(times.since(known, kNoon + 10 * kSecond) == kNoon + 9 * kSecond);
}

TEST_CASE("a finding that is repeated has the same text, whatever time has passed") {
  const auto later = [](HealthView view, DurationNs time) {
    for (Process& one : view.processes) {
      one.silent_ns += !one.live || one.silent_ns >= 2 * kSecond ? time : 0;
      one.since_loss_ns += time;
      one.since_death_ns += time;
      one.filter_held_ns += one.filter_held_ns > 0 ? time : 0;
      if (one.removed_since_ns) *one.removed_since_ns += time;
      if (one.freeze.end_in_ns) *one.freeze.end_in_ns -= time;
    }
    view.unsettled_ns += view.unsettled_ns > 0 ? time : 0;
    view.up_ns += time;
    if (view.flow.silent_ns) *view.flow.silent_ns += time;
    return health_of(view);
  };
  HealthView all_gone = running();
  for (Process& one : all_gone.processes) lose(all_gone, one.name);
  HealthView host_gone = running();
  for (Process& one : host_gone.processes) one.host = "hall";
  for (const char* name : {"dcm-0", "dcm-1"}) {
    of(host_gone, name).host = "node7";
    lose(host_gone, name);
  }
  HealthView frozen = running();
  lose(frozen, "supervisor");
  of(frozen, "supervisor").freeze = {Freeze::Kind::stopped, 20 * kSecond};
  HealthView mixed = running();
  for (const char* name : {"writer-0", "writer-1"}) {
    of(mixed, name).removed = true;
    of(mixed, name).removed_since_ns = 40 * kSecond;
  }
  mixed.flow.silent_ns = 12 * kSecond;
  mixed.unsettled_ns = 31 * kSecond;
  of(mixed, "readout-1").silent_ns = 20 * kSecond;
  of(mixed, "dcm-0").filter_held_ns = 40 * kSecond;
  of(mixed, "dcm-1").deaths = of(mixed, "dcm-1").losses = 4;
  HealthView gone = in_state(State::ready);
  lose(gone, "dcm-0");
  for (const HealthView& view : {all_gone, host_gone, frozen, mixed, gone}) {
    const auto now = health_of(view);
    INFO(all_of(now));
    CHECK(now.front().gravity > Gravity::waiting);
    const auto then = later(view, 7 * kSecond);
    REQUIRE(now == then);
    for (std::size_t i = 0; i < now.size(); ++i)
      CHECK(then[i].lasts_ns.value_or(0) == now[i].lasts_ns.value_or(-7 * kSecond) + 7 * kSecond);
  }
}

}  // namespace weir::control
