#include "weir_catch.hpp"
#include <weir/config/alarms.hpp>
#include <weir/config/farm_file.hpp>

#include <string>

using namespace weir;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string alarm_problems(const std::string& alarms) {
  const auto file = config::read_farm("farm: lab\ncontrol:\n  alarms: {" + alarms + "}\n", "farm.yaml");
  if (!file) return config::to_text(file.error());
  const auto read = config::read_alarms(file->farm);
  return read ? "" : config::to_text(read.error());
}

}  // namespace

TEST_CASE("channels and rules of the farm file become settings of alarms") {
  const auto file = config::read_farm(
      "farm: lab\n"
      "control:\n"
      "  alarms:\n"
      "    messages_per_hour: 30\n"
      "    channels:\n"
      "      - {name: shift, mail: /etc/weir/mail, from: error}\n"
      "      - {name: chat, webhook: /etc/weir/hook, format: slack, timeout_s: 5}\n"
      "      - {name: watchdog, do: ping-it, heartbeat_s: 60}\n"
      "    rules:\n"
      "      - {name: silent, severity: off}\n"
      "      - {name: hot, metric: weir_slices_in_flight, above: 100, raise_after_s: 60, severity: error}\n"
      "      - {name: forgotten, state: paused, raise_after_s: 600}\n",
      "farm.yaml");
  REQUIRE(file);
  const auto read = config::read_alarms(file->farm);
  REQUIRE(read);
  const control::AlarmSettings& settings = read->settings;
  CHECK(settings.per_hour == 30);
  REQUIRE(settings.channels.size() == 3);
  CHECK(settings.channels[0].from == control::Gravity::error);
  CHECK(settings.channels[2].alive_ns == 60 * kSecond);
  CHECK(read->ways[0].kind == config::AlarmWay::Kind::mail);
  CHECK(read->ways[1].seconds_max == 5);
  CHECK(read->ways[2].what == "ping-it");
  REQUIRE(settings.rules.size() == 3);
  CHECK(settings.rules[0].off);
  CHECK(settings.rules[1].timing.raise_after == 60 * kSecond);
  CHECK(settings.rules[1].timing.clear_after == 30 * kSecond);
  REQUIRE(read->conditions.size() == 2);
  CHECK(read->conditions[0].above == 100);
  CHECK(read->conditions[1].state == control::State::paused);
}

TEST_CASE("alarms that cannot work are refused with their line") {
  CHECK(alarm_problems("").empty());
  CHECK_THAT(alarm_problems("channels: [{name: a}]"), ContainsSubstring("one of do, mail and webhook"));
  CHECK_THAT(alarm_problems("channels: [{name: a, do: x, mail: y}]"), ContainsSubstring("one of do, mail"));
  CHECK_THAT(alarm_problems("channels: [{name: a, do: x}, {name: a, do: y}]"), ContainsSubstring("already"));
  CHECK_THAT(alarm_problems("channels: [{name: a, do: x, format: slack}]"), ContainsSubstring("remove it"));
  CHECK_THAT(alarm_problems("rules: [{name: a, metric: weir_slices_in_fligth, above: 1}]"),
             ContainsSubstring("weir_slices_in_flight"));
  CHECK_THAT(alarm_problems("rules: [{name: a, metric: weir_slices_in_flight}]"), ContainsSubstring("below"));
  CHECK_THAT(alarm_problems("rules: [{name: a, above: 1}]"), ContainsSubstring("needed by `above`"));
  CHECK_THAT(alarm_problems("rules: [{name: a, state: sleeping}]"), ContainsSubstring("is none of idle"));
  CHECK_THAT(alarm_problems("rules: [{name: a, state: idle, metric: weir_slices_in_flight, above: 1}]"),
             ContainsSubstring("a metric or a state"));
}
