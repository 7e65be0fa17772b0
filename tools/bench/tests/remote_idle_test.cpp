#include "weir_catch.hpp"
#include <weir/bench/remote_idle.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/config/silence.hpp>
#include <weir/lab/plan.hpp>

namespace weir::bench {
namespace {

using Catch::ContainsSubstring;

TEST_CASE("the line idles in every case with a paper's value, and is probed in a pause otherwise") {
  const IdleOptions options;
  const auto pause_ns = static_cast<DurationNs>(options.pause_s * kSecond);
  for (const IdleCase& one : idle_cases()) {
    CAPTURE(one.label);
    const auto farm = config::read_farm(idle_farm(one, options), "farm.yaml");
    REQUIRE(farm);
    const auto plan = config::expand(farm->farm, farm->locations);
    REQUIRE(plan);
    const auto lab = config::read_lab(idle_lab(one, options), "lab.yaml");
    REQUIRE(lab);
    REQUIRE(lab::plan_lab(*lab, &*plan));
    CHECK((config::silence_ns(farm->farm) / 3 > pause_ns) == (one.paper_ms > 0));
  }
}

TEST_CASE("the table has the paper's time beside the median and the longest one") {
  std::vector<IdleResult> results;
  for (const IdleCase& one : idle_cases()) results.push_back({one, {{3, 50}, {4, 90}, {5, 45}}, true});
  const std::string table = idle_table(results, {}, "a machine");
  CHECK_THAT(table, ContainsSubstring("| idle line | 160 | 50.0 | 90.0 | 3 |"));
  CHECK_THAT(table, ContainsSubstring("| line kept busy by probes | - | 50.0 |"));
  CHECK_THAT(idle_lines(results, {}), ContainsSubstring("\"times_ms\":[[3E0,5E1],[4E0,9E1],[5E0,4.5E1]]"));
  CHECK(IdleResult{}.median_ms() == 0);
}

}  // namespace
}  // namespace weir::bench
