#include "weir_catch.hpp"
#include <weir/control/hooks.hpp>

using namespace weir;
using namespace weir::control;

namespace {

const Hook kVoltage{"voltage", {HookPoint::before_start}, "check-hv", 10 * kSecond, true};
const Hook kLenient{"lenient", {HookPoint::before_start}, "ask", 1500 * kMillisecond, false};

HookEnd status(int value, const std::string& output = {}) { return {HookEnd::Kind::status, value, output}; }

std::vector<HookPoint> points(const std::vector<TransitionWatch::Passed>& passed) {
  std::vector<HookPoint> list;
  for (const auto& one : passed) list.push_back(one.point);
  return list;
}

using Points = std::vector<HookPoint>;

}  // namespace

TEST_CASE("each hook point has a name, and only those before a transition may refuse") {
  for (std::size_t i = 0; i < kHookPoints; ++i) {
    const auto point = static_cast<HookPoint>(i);
    CHECK(hook_point_of(name(point)) == point);
    CHECK(may_refuse(point) == name(point).starts_with("before-"));
  }
  CHECK_FALSE(hook_point_of("before-stop"));
  CHECK_FALSE(point_before(Command::stop));
  CHECK_FALSE(point_before(Command::off));
  CHECK(point_before(Command::start) == HookPoint::before_start);
  CHECK(point_before(Command::configure) == HookPoint::before_configure);
}

TEST_CASE("a transition passes when all hooks agree, and only then") {
  HookGate gate;
  gate.open(Command::start, {0, 1});
  CHECK(gate.waits() == Command::start);
  gate.ended(0, kVoltage, status(0, "all channels on"));
  CHECK_FALSE(gate.take_verdict());
  gate.ended(7, kVoltage, status(1));  // another point's
  gate.ended(1, kLenient, status(0));
  const auto verdict = gate.take_verdict();
  REQUIRE(verdict);
  CHECK(verdict->command == Command::start);
  CHECK(verdict->refusal.empty());
  CHECK_FALSE(gate.waits());
  CHECK_FALSE(gate.take_verdict());
}

TEST_CASE("a refusal has the hook's own words, all of them") {
  HookGate gate;
  gate.open(Command::start, {0, 1});
  gate.ended(0, kVoltage, status(1, "module 3 is off"));
  gate.ended(1, kLenient, status(2));
  CHECK(gate.take_verdict()->refusal == "hook voltage: module 3 is off; hook lenient: exit status 2");
}

TEST_CASE("a hook that fails refuses or not, as it is set") {
  const HookEnd ends[] = {{HookEnd::Kind::late, 0, ""},
                          {HookEnd::Kind::by_signal, 11, ""},
                          {HookEnd::Kind::not_started, 0, "no memory"},
                          status(127, "sh: 1: check-hv: not found")};
  const char* const texts[] = {"took longer than 10 s (limit_s)", "ended by signal 11",
                               "cannot be started: no memory", "exit status 127: sh: 1: check-hv: not found"};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(ends[i].failed());
    HookGate gate;
    gate.open(Command::start, {0});
    gate.ended(0, kVoltage, ends[i]);
    CHECK(gate.take_verdict()->refusal == std::string("hook voltage: ") + texts[i]);
    gate.open(Command::start, {0});
    gate.ended(0, kLenient, ends[i]);
    CHECK(gate.take_verdict()->refusal.empty());
  }
  CHECK(ends[0].text(kLenient) == "took longer than 1.5 s (limit_s)");
  CHECK_FALSE(status(1).failed());
}

TEST_CASE("a gate that is closed gives no verdict, and opens again") {
  HookGate gate;
  gate.open(Command::configure, {0});
  gate.close();
  gate.ended(0, kVoltage, status(1, "late answer"));
  CHECK_FALSE(gate.take_verdict());
  gate.open(Command::start, {0});
  gate.ended(0, kVoltage, status(0));
  CHECK(gate.take_verdict()->refusal.empty());
}

TEST_CASE("the end of each transition is seen once") {
  TransitionWatch watch;
  using Seen = TransitionWatch::Seen;
  CHECK(watch.look({State::idle, {}, false, {}}).empty());
  CHECK(watch.look(Seen{State::idle, Command::init, false, {}}).empty());
  CHECK(points(watch.look({State::standby, {}, false, {}})) == Points{HookPoint::after_init});
  CHECK(watch.look({State::standby, Command::configure, false, {}}).empty());
  CHECK(points(watch.look({State::ready, {}, false, {}})) == Points{HookPoint::after_configure});
  CHECK(watch.look({State::ready, {}, false, {}}).empty());
  CHECK(watch.look({State::ready, Command::configure, false, {}}).empty());
  CHECK(watch.look({State::ready, {}, true, {}}).empty());  // refused
  CHECK(watch.look({State::ready, Command::start, false, RunNumber(3)}).empty());
  CHECK(points(watch.look({State::running, {}, false, RunNumber(3)})) == Points{HookPoint::after_start});
  CHECK(watch.look({State::running, Command::pause, false, RunNumber(3)}).empty());
  CHECK(points(watch.look({State::paused, {}, false, RunNumber(3)})) == Points{HookPoint::after_pause});
  CHECK(points(watch.look({State::running, {}, false, RunNumber(3)})) == Points{HookPoint::after_continue});
  CHECK(watch.look({State::running, Command::stop, false, RunNumber(3)}).empty());
  CHECK(watch.look({State::ready, {}, false, RunNumber(3)}).empty());  // the account is on its way
  const auto over = watch.look({State::ready, {}, false, {}});
  REQUIRE(points(over) == Points{HookPoint::after_stop});
  CHECK(over[0].run == RunNumber(3));
  CHECK(watch.look({State::ready, Command::reset, false, {}}).empty());
  CHECK(points(watch.look({State::idle, {}, false, {}})) == Points{HookPoint::after_reset});
}

TEST_CASE("a run that is lost by a reset, or followed at once by the next, is over too") {
  TransitionWatch watch;
  CHECK(watch.look({State::running, {}, false, RunNumber(3)}).empty());  // run control was restarted
  CHECK(watch.look({State::running, Command::reset, false, RunNumber(3)}).empty());
  CHECK(points(watch.look({State::idle, {}, false, {}})) ==
        Points{HookPoint::after_stop, HookPoint::after_reset});
  CHECK(watch.look({State::running, {}, false, RunNumber(4)}).empty());
  const auto next = watch.look({State::running, {}, false, RunNumber(5)});
  REQUIRE(points(next) == Points{HookPoint::after_stop});
  CHECK(next[0].run == RunNumber(4));
}
