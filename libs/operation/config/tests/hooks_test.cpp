#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/config/hooks.hpp>

#include <string>

using namespace weir;
using Catch::ContainsSubstring;

namespace {

std::string hook_errors(const std::string& hooks) {
  const auto file = config::read_farm("control:\n  hooks:\n" + hooks, "farm.yaml");
  if (!file) return config::to_text(file.error());
  const auto read = config::read_hooks(file->farm, file->locations);
  return read ? "" : config::to_text(read.error());
}

}  // namespace

TEST_CASE("hooks of a farm file become run control's") {
  const auto file = config::read_farm(
      "control:\n  hooks:\n"
      "    - {name: voltage, at: [before-start], run: check-hv, limit_s: 2.5, refuse_on_failure: false}\n"
      "    - {name: logbook, at: [after-start, after-stop], run: 'elog.py http://elog/ | cat'}\n",
      "farm.yaml");
  REQUIRE(file);
  const auto hooks = config::read_hooks(file->farm);
  REQUIRE(hooks);
  REQUIRE(hooks->size() == 2);
  CHECK(hooks->at(0).name == "voltage");
  CHECK(hooks->at(0).is_at(control::HookPoint::before_start));
  CHECK(hooks->at(0).limit_ns == 2500 * kMillisecond);
  CHECK_FALSE(hooks->at(0).refuse_on_failure);
  CHECK(hooks->at(1).is_at(control::HookPoint::after_stop));
  CHECK_FALSE(hooks->at(1).is_at(control::HookPoint::before_start));
  CHECK(hooks->at(1).limit_ns == 10 * kSecond);
  CHECK(hooks->at(1).run == "elog.py http://elog/ | cat");
}

TEST_CASE("unknown points, repeated names and too long waits are refused with place and remedy") {
  CHECK_THAT(hook_errors("    - {name: a, at: [before-stop], run: x}\n"),
             ContainsSubstring("'before-stop' is not a point of a hook") && ContainsSubstring("farm.yaml:3"));
  CHECK_THAT(hook_errors("    - {name: a, at: [after-stp], run: x}\n"), ContainsSubstring("after-stop"));
  CHECK_THAT(hook_errors("    - {name: a, at: [], run: x}\n"),
             ContainsSubstring("points such as before-start"));
  CHECK_THAT(
      hook_errors("    - {name: a, at: [after-stop], run: x}\n    - {name: a, at: [after-stop], run: y}\n"),
      ContainsSubstring("there is a hook 'a' already"));
  CHECK_THAT(hook_errors("    - {name: a, at: [before-start], run: x, limit_s: 61}\n"),
             ContainsSubstring("is above 60"));
  CHECK(hook_errors("    - {name: a, at: [after-stop], run: x, limit_s: 3600}\n").empty());
  CHECK_THAT(hook_errors("    - {at: [after-stop], run: x}\n"), ContainsSubstring("name"));
  CHECK_THAT(hook_errors("    - {name: a, at: [after-stop]}\n"), ContainsSubstring("run"));
}
