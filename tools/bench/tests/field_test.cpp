#include "weir_catch.hpp"
#include <weir/bench/field.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/lab/plan.hpp>

#include <boost/json.hpp>

#include <set>

namespace weir::bench {
namespace {

TEST_CASE("the farm and the lab of every case are good, quiet and busy") {
  const FieldOptions options;
  std::set<std::string> names;
  for (const auto& group : expand(options)) {
    CHECK(group.size() == 6);  // adaptive, none, and four windows
    for (const FieldPoint& point : group) {
      names.insert(point.what->name);
      const std::string farm_yaml = farm_text(point, options);
      const std::string lab_yaml = lab_text(point, options, 2);
      INFO(describe(point) << "\n" << farm_yaml << lab_yaml);
      const auto farm = config::read_farm(farm_yaml, "farm.yaml");
      REQUIRE(farm.has_value());
      CHECK(config::to_text(config::validate(farm->farm, farm->locations)).empty());
      const auto plan = config::expand(farm->farm, farm->locations);
      REQUIRE(plan.has_value());
      const auto lab_file = config::read_lab(lab_yaml, "lab.yaml");
      REQUIRE(lab_file.has_value());
      const auto lab = lab::plan_lab(*lab_file, &*plan);
      INFO((lab ? "" : config::to_text(lab.error())));
      REQUIRE(lab.has_value());
      CHECK(lab->cpu_load == (point.busy ? 2 : 0));
      CHECK(lab->changes.size() == point.what->changes.size());
    }
  }
  CHECK(names.size() == field_cases().size());
  CHECK(names.size() == 21);
}

TEST_CASE("cases, loads and shapers are chosen by name") {
  FieldOptions options;
  options.cases = {"wan-40", "core"};
  options.loads = {"busy"};
  options.shapers = {"byte-credits"};
  options.window_bytes = {72'000};
  const auto groups = expand(options);
  REQUIRE(groups.size() == 2);
  REQUIRE(groups[0].size() == 1);
  CHECK(describe(groups[0][0]) == "core, busy, byte-credits 72 kB");
}

// A round with this share of theory, and a p99 of three times the serialisation.
NetworkRun run_of(double share) {
  NetworkRun run;
  run.line = {{"whole", {{"port_drops", 7}}},
              {"after_1s", {{"share_of_theory", share}, {"port_drops", 0}}},
              {"p99_over_serialisation", 3.0}};
  return run;
}

Line line_of_case(const char* name, bool busy, double share) {
  FieldOptions options;
  options.cases = {name};
  Lines rounds;
  for (const double factor : {0.5, 1.0, 2.0})
    rounds.push_back(line_of(expand(options)[busy ? 1 : 0][0], options, run_of(factor * share)));
  return medians_of(rounds);
}

TEST_CASE("figures are medians, relative to theory, which includes the narrowest place") {
  const Line lan = line_of_case("lan-8", false, 0.5);
  CHECK(number_of(lan, "share_of_theory") == 0.5);
  CHECK(number_of(lan, "p99_over_serialisation") == 3);
  CHECK(number_of(lan, "drops") == 7);
  const Line line = line_of_case("wan-40", false, 0.1);
  CHECK(number_of(line, "share_of_theory") == Approx(0.1));
  CHECK(number_of(line, "p99_over_serialisation") == Approx(0.6));
}

TEST_CASE("the page has a section a case, and each point a line") {
  const Lines lines{line_of_case("lan-8", false, 0.9), line_of_case("lan-8", true, 0.8),
                    line_of_case("core", true, 0.3)};
  const std::string page = field_page(lines, {}, "2 cores");
  CHECK_THAT(page, Catch::ContainsSubstring("\n## lan-8\n8 readouts to one DCM.\n"));
  CHECK_THAT(page, Catch::ContainsSubstring("| busy | adaptive | 80.0 | 3.00 | 7 | 0 | 0 | 0.00 |\n"));
  CHECK_THAT(page, !Catch::ContainsSubstring("jitter"));
  CHECK(lines[1].at("case").as_string() == "lan-8");
  CHECK(lines[1].at("load").as_string() == "busy");
  CHECK(lines[1].at("rounds").to_number<int>() == 3);
}

TEST_CASE("foreign traffic has a column where there is some") {
  FieldOptions options;
  options.cases = {"foreign"};
  NetworkRun run = run_of(0.7);
  run.line["foreign_share"] = 0.95;
  const Line line = line_of(expand(options)[0][0], options, run);
  CHECK_THAT(field_page({line}, {}, "2 cores"),
             Catch::ContainsSubstring(" | foreign traffic, % of its rate |\n") &&
                 Catch::ContainsSubstring(" | 95.0 |\n"));
  CHECK_THAT(field_page({line_of_case("lan-8", false, 0.9)}, {}, "2 cores"),
             !Catch::ContainsSubstring("foreign"));
}

TEST_CASE("a case with a delay has its jitter, with a mark if delays are not exact") {
  Line line = line_of_case("wan-40", false, 0.5);
  line["_jitter_us"] = 80;
  CHECK_THAT(field_page({line}, {}, "2 cores"),
             Catch::ContainsSubstring("\nThe p99 jitter of the delay was at most 80 us.\n"));
  line["_inexact_delay"] = true;
  CHECK_THAT(field_page({line}, {}, "2 cores"),
             Catch::ContainsSubstring("80 us, more than 10 % of the delay"));
}

}  // namespace
}  // namespace weir::bench
