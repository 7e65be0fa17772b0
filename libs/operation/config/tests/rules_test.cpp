#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/config/rules.hpp>

#include <string>

using namespace weir;

namespace {

// Puts `rules` below "rules:", from line 4 on.
std::string errors_of_rules(const std::string& rules) {
  const auto file = config::read_farm("dcm: {count: 2}\ncontrol:\n  rules:\n" + rules, "farm.yaml");
  if (!file) return config::to_text(file.error());
  return config::to_text(config::validate(file->farm, file->locations));
}

}  // namespace

TEST_CASE("rules of a farm file become run control's") {
  const auto file = config::read_farm(
      "control:\n  rules:\n"
      "    - {name: disk, when: WRITER_DISK_FULL, of: [writer], for_s: 2, do: stop, again_s: 5, times_max: "
      "3}\n"
      "    - {name: rotate, when: run_seconds, value: 3600, do: start-next}\n",
      "farm.yaml");
  REQUIRE(file);
  const auto plan = config::expand(file->farm);
  REQUIRE(plan);
  const auto rules = config::read_rules(file->farm, *plan);
  REQUIRE(rules);
  REQUIRE(rules->size() == 2);
  const control::Rule& disk = rules->front();
  CHECK(disk.name == "disk");
  CHECK(disk.when == control::Condition::reason);
  CHECK(disk.reason == "WRITER_DISK_FULL");
  CHECK(disk.of == std::vector<std::string>{"writer"});
  CHECK(disk.for_ns == 2 * kSecond);
  CHECK(disk.act == control::Act::stop);
  CHECK(disk.again_ns == 5 * kSecond);
  CHECK(disk.times_max == 3);
  CHECK(rules->back().when == control::Condition::run_seconds);
  CHECK(rules->back().value == 3600);
  CHECK(rules->back().act == control::Act::start_next);
  CHECK(rules->back().again_ns == 60 * kSecond);
}

TEST_CASE("a rule's mistakes are named with file and line") {
  CHECK(errors_of_rules("    - {name: a, when: WRITER_DISK_FUL}\n") ==
        "farm.yaml:4: control.rules[0].when: 'WRITER_DISK_FUL' is not process_gone, process_error, "
        "run_seconds, livetime_below, rate_below, no_triggers_s, or a reason such as WRITER_DISK_FULL "
        "(docs/operating.md); did you mean "
        "'WRITER_DISK_FULL'?");
  CHECK(errors_of_rules("    - name: a\n      when: process_gone\n      of: [dcm-2]\n") ==
        "farm.yaml:6: control.rules[0].of[0]: 'dcm-2' is neither a process of the farm nor a kind; did you "
        "mean "
        "'dcm-0'?");
  CHECK(errors_of_rules("    - {name: a, when: process_gone, do: stpo}\n") ==
        "farm.yaml:4: control.rules[0].do: 'stpo' is not one of warn, stop, pause, continue, start-next, "
        "restart, "
        "reset; did you mean 'stop'?");
  CHECK(errors_of_rules("    - {when: process_gone}\n") == "farm.yaml:4: control.rules[0].name: missing");
  CHECK(errors_of_rules("    - {name: a, when: process_gone}\n    - {name: a, when: process_error}\n") ==
        "farm.yaml:5: control.rules[1].name: there is a rule 'a' already");
}

TEST_CASE("a condition without a target for its action is refused") {
  CHECK(errors_of_rules("    - {name: a, when: run_seconds}\n") ==
        "farm.yaml:4: control.rules[0].value: needed by this condition, above 0");
  CHECK(errors_of_rules("    - {name: a, when: livetime_below, value: 90}\n") ==
        "farm.yaml:4: control.rules[0].value: 90 is above 1: it is a share");
  CHECK(errors_of_rules("    - {name: a, when: livetime_below, value: 0.9, of: [dcm]}\n") ==
        "farm.yaml:4: control.rules[0].of: this condition applies to the run: remove it");
  CHECK(errors_of_rules("    - {name: a, when: process_gone, value: 3}\n") ==
        "farm.yaml:4: control.rules[0].value: this condition has no value: remove it");
  CHECK(errors_of_rules("    - {name: a, when: FILTER_TOO_SLOW, do: reset}\n") ==
        "farm.yaml:4: control.rules[0].do: 'reset' is for the condition process_error");
  CHECK(
      errors_of_rules("    - {name: a, when: process_gone, do: restart}\n") ==
      "farm.yaml:4: control.rules[0].do: 'restart' needs a running process: use process_error, or a reason");
  CHECK(errors_of_rules("    - {name: a, when: process_error, of: [dcm, writer-0], do: restart}\n").empty());
}
