#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/config/quality.hpp>

#include <string>

using namespace weir;
using Catch::ContainsSubstring;

namespace {

std::string quality_errors(const std::string& checks) {
  const auto file = config::read_farm("control:\n  quality:\n" + checks, "farm.yaml");
  if (!file) return config::to_text(file.error());
  const auto read = config::read_quality(file->farm, file->locations);
  return read ? "" : config::to_text(read.error());
}

}  // namespace

TEST_CASE("checks of a farm file become run control's") {
  const auto file = config::read_farm(
      "control:\n  quality:\n"
      "    - {name: size, histogram: slice bytes, mean_min: 100, entries_min: 50, entries_by_s: 60}\n"
      "    - {name: shape, histogram: hits, reference_run: 12, ratio_max: 0.2, severity: error}\n",
      "farm.yaml");
  REQUIRE(file);
  const auto checks = config::read_quality(file->farm);
  REQUIRE(checks);
  REQUIRE(checks->size() == 2);
  CHECK(checks->at(0).histogram == "slice bytes");
  CHECK(checks->at(0).mean_min == 100.0);
  CHECK_FALSE(checks->at(0).mean_max);
  CHECK(checks->at(0).entries_min == 50);
  CHECK(checks->at(0).entries_by_ns == 60 * kSecond);
  CHECK(checks->at(0).gravity == control::Gravity::warning);
  CHECK(checks->at(1).reference_run == 12);
  CHECK(checks->at(1).ratio_max == 0.2);
  CHECK(checks->at(1).gravity == control::Gravity::error);
}

TEST_CASE("checks that judge nothing, contradict themselves or lack a reference are refused") {
  CHECK_THAT(quality_errors("    - {name: a, histogram: h}\n"),
             ContainsSubstring("one or more of") && ContainsSubstring("farm.yaml:3"));
  CHECK_THAT(quality_errors("    - {name: a, histogram: h, mean_min: 2, mean_max: 1}\n"),
             ContainsSubstring("no mean is good"));
  CHECK_THAT(quality_errors("    - {name: a, histogram: h, ratio_max: 0.1}\n"),
             ContainsSubstring("reference_run"));
  CHECK_THAT(quality_errors("    - {name: a, histogram: h, mean_min: 1, reference_run: 3}\n"),
             ContainsSubstring("nothing else is compared"));
  CHECK_THAT(quality_errors("    - {name: a, histogram: h, mean_min: 1}\n"
                            "    - {name: a, histogram: g, mean_min: 1}\n"),
             ContainsSubstring("there is a check 'a' already"));
  CHECK_THAT(quality_errors("    - {name: a, mean_min: 1}\n"), ContainsSubstring("histogram"));
}
