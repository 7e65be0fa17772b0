#include "weir_catch.hpp"
#include <weir/bench/remote_idle.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/config/silence.hpp>
#include <weir/lab/plan.hpp>

#include <boost/json.hpp>

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
  const IdleOptions options;
  Lines lines;
  for (const IdleCase& one : idle_cases())
    lines.push_back(line_of(one, options, {{3, 50}, {4, 90}, {5, 45}}, true));
  const std::string page = idle_page(lines, options, {.others = 0});
  CHECK_THAT(page, ContainsSubstring("| idle line | 160 | 50.0 | 90.0 | 3 |"));
  CHECK_THAT(page, ContainsSubstring("| line kept busy by probes | - | 50.0 |"));
  CHECK(lines.front().at("times_ms") == boost::json::parse("[[3.0,50.0],[4.0,90.0],[5.0,45.0]]"));
  CHECK(number_of(line_of(idle_cases().front(), options, {}, true), "median_ms") == 0);
}

TEST_CASE("times over a long line are judged in round trips, and against the line's least time") {
  const IdleOptions options;
  CHECK(floor_ms(options) == Approx(41.26).margin(0.01));  // 691 frames of 1538 bytes at 400 Mb/s, and 20 ms
  const auto page = [&](double slow_ms, double fast_ms, const RunConditions& conditions) {
    Lines lines;
    for (const IdleCase& one : idle_cases())
      lines.push_back(line_of(one, options, {{3, one.paper_ms == 40 ? fast_ms : slow_ms}}, true));
    return idle_page(lines, options, conditions);
  };
  const RunConditions quiet{.others = 0.02, .withheld = 0};
  CHECK_THAT(page(147, 44, quiet),
             ContainsSubstring("| met | III.A, Figure 4") && ContainsSubstring("| met | III.A, Figure 5") &&
                 ContainsSubstring("| 7.3 round trips |") && ContainsSubstring("At least it takes 41.3 ms"));
  CHECK_THAT(page(100, 60, quiet), ContainsSubstring("| not met | III.A, Figure 4") &&
                                       ContainsSubstring("| not met | III.A, Figure 5"));
  CHECK_THAT(page(147, 44, {.withheld = 0.3}), !ContainsSubstring("met |"));
  CHECK_THAT(page(147, 44, {}),
             ContainsSubstring("| no verdict: the load was not recorded | III.A, Figure 5"));
}

}  // namespace
}  // namespace weir::bench
