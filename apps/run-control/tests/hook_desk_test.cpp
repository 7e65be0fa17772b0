#include "../src/hook_desk.hpp"

#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/clock/clock.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;
using control::HookPoint;

namespace {

std::string text_in(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class Condition>
bool becomes_true(const Condition& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

struct AskedHooks {
  explicit AskedHooks(std::vector<control::Hook> hooks)
      : desk(std::move(hooks), folder.path().string() + "/hooks", log) {}
  std::optional<control::HookGate::Verdict> verdict() {
    std::optional<control::HookGate::Verdict> found;
    (void)becomes_true([&] {
      desk.look();
      found = desk.take_verdict();
      return found.has_value();
    });
    return found;
  }
  [[nodiscard]] std::string output(const std::string& hook) const {
    return text_in(folder.path().string() + "/hooks/" + hook + ".log");
  }
  [[nodiscard]] std::string last_line() const { return log.lines().empty() ? "" : log.lines().back().text(); }

  weir::test::TemporaryFolder folder;
  EventLog log{[](const v1::FarmView::Line&) {}};
  HookDesk desk;
};

control::Hook hook_at(const std::string& name, HookPoint point, const std::string& run,
                      DurationNs limit = 10 * kSecond) {
  return {name, {point}, run, limit, true};
}

const boost::json::object kHookAccount = {{"run", 7}, {"farm", "small"}, {"folder", "/data"}};

}  // namespace

TEST_CASE("a hook gets the account on standard input and in its environment, and its output is kept") {
  AskedHooks desk({hook_at("say", HookPoint::before_start,
                           "cat; echo $WEIR_POINT $WEIR_FARM $WEIR_RUN $WEIR_FOLDER >&2")});
  CHECK_FALSE(desk.desk.ask(control::Command::configure, kHookAccount));
  REQUIRE(desk.desk.ask(control::Command::start, kHookAccount));
  CHECK(desk.desk.waits() == control::Command::start);
  const auto verdict = desk.verdict();
  REQUIRE(verdict);
  CHECK(verdict->refusal.empty());
  CHECK_THAT(desk.output("say"), ContainsSubstring("before-start, run 7: exit status 0, ") &&
                                     ContainsSubstring("\"hook\": \"say\"") &&
                                     ContainsSubstring("before-start small 7 /data\n"));
  CHECK(desk.desk.findings().empty());
  CHECK(desk.desk.counts().started == 1);
}

TEST_CASE("a refusal is an event and a finding with the hook's words until the next try") {
  AskedHooks desk({hook_at("voltage", HookPoint::before_start, "echo 'module 3 is off'; echo more; exit 1"),
                   hook_at("other", HookPoint::before_start, "true")});
  REQUIRE(desk.desk.ask(control::Command::start, kHookAccount));
  CHECK(desk.verdict()->refusal == "hook voltage: module 3 is off");
  CHECK(desk.last_line() == "start refused by hook voltage: module 3 is off");
  REQUIRE(desk.desk.findings().size() == 1);
  CHECK(desk.desk.findings()[0].word == "start refused");
  CHECK(desk.desk.counts().refused == 1);
  CHECK(desk.desk.counts().failed == 0);
  REQUIRE(desk.desk.ask(control::Command::start, kHookAccount));
  CHECK(desk.desk.findings().empty());
  (void)desk.verdict();
}

TEST_CASE("a hook that hangs is killed at its limit, with its descendants") {
  AskedHooks desk({hook_at("slow", HookPoint::before_start,
                           "trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000", 100 * kMillisecond)});
  REQUIRE(desk.desk.ask(control::Command::start, kHookAccount));
  CHECK_THAT(desk.verdict()->refusal, ContainsSubstring("hook slow: took longer than 0.1 s (limit_s)"));
  const std::string said = desk.output("slow");
  const pid_t child = std::stoi(said.substr(said.find('\n') + 1));
  CHECK(becomes_true([&] { return ::kill(child, 0) != 0; }));
  CHECK(desk.desk.counts().failed == 1);
  CHECK_THAT(desk.last_line(), ContainsSubstring("hook slow: took longer"));
  CHECK(desk.desk.findings().size() == 2);  // the refusal, and the failure
}

TEST_CASE("a hook after a transition that fails is named and counted, until it succeeds") {
  const weir::test::TemporaryFolder folder;
  const std::string flag = folder / "flag";
  AskedHooks desk(
      {hook_at("log", HookPoint::after_stop, "test -e " + flag + " || { echo no logbook; exit 4; }")});
  desk.desk.inform(HookPoint::after_start, kHookAccount);  // it is not at this point
  CHECK(desk.desk.counts().started == 0);
  desk.desk.inform(HookPoint::after_stop, kHookAccount);
  const auto failed = [&](std::uint64_t count) {
    return becomes_true([&] {
      desk.desk.look();
      return desk.desk.counts().failed == count;
    });
  };
  CHECK(failed(1));
  CHECK(desk.last_line() == "hook log failed after-stop, run 7: exit status 4: no logbook");
  REQUIRE(desk.desk.findings().size() == 1);
  CHECK(desk.desk.findings()[0].reason == "hook log, after-stop, run 7: exit status 4: no logbook");
  std::ofstream(flag) << "x";
  desk.desk.inform(HookPoint::after_stop, kHookAccount);
  CHECK(becomes_true([&] {
    desk.desk.look();
    return desk.desk.findings().empty();
  }));
}

TEST_CASE("tasks of one hook follow each other, those of others run beside them") {
  const weir::test::TemporaryFolder folder;
  const std::string file = folder / "order";
  AskedHooks desk({hook_at("first", HookPoint::after_start, "sleep 0.2; echo a >>" + file),
                   hook_at("second", HookPoint::after_start, "echo b >>" + file)});
  desk.desk.inform(HookPoint::after_start, kHookAccount);
  desk.desk.inform(HookPoint::after_start, kHookAccount);
  CHECK(becomes_true([&] { return text_in(file) == "b\nb\na\na\n"; }));
}

TEST_CASE("a transition that is given up kills its hooks, and their end does not count") {
  AskedHooks desk({hook_at("slow", HookPoint::before_start, "sleep 1000")});
  REQUIRE(desk.desk.ask(control::Command::start, kHookAccount));
  desk.desk.give_up();
  CHECK_FALSE(desk.desk.waits());
  CHECK(becomes_true([&] { return !desk.output("slow").empty(); }));
  desk.desk.look();
  CHECK(desk.desk.findings().empty());
  CHECK(desk.desk.counts().failed == 0);
  REQUIRE(desk.desk.ask(control::Command::start, kHookAccount));
  desk.desk.give_up();
}

TEST_CASE("output is bounded, and the rest is counted") {
  AskedHooks desk({hook_at("loud", HookPoint::before_start, "head -c 300000 /dev/zero | tr '\\0' x")});
  REQUIRE(desk.desk.ask(control::Command::start, kHookAccount));
  CHECK(desk.verdict()->refusal.empty());
  const std::string said = desk.output("loud");
  CHECK(said.size() < hooks::HookRunner::kOutputMax + 200);
  CHECK_THAT(said.substr(said.size() - 60), ContainsSubstring("bytes left out)\n"));
}

TEST_CASE("too many waiting tasks are dropped with a finding") {
  AskedHooks desk({hook_at("slow", HookPoint::after_pause, "sleep 0.001")});
  for (std::size_t i = 0; i < hooks::HookRunner::kWaitingMax + 50; ++i)
    desk.desk.inform(HookPoint::after_pause, kHookAccount);
  CHECK(desk.desk.counts().dropped > 0);
  REQUIRE(desk.desk.findings().size() == 1);
  CHECK_THAT(desk.desk.findings()[0].reason, ContainsSubstring("too many hooks wait"));
}
