#include "weir_catch.hpp"
#include <weir/bench/filter_node.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>

#include <boost/json.hpp>

namespace weir::bench {
namespace {

using Catch::Matchers::ContainsSubstring;

FilterNodeResult at(std::vector<std::uint64_t> thrown_away) {
  FilterNodeResult result{filter_node_cases().front(), {}};
  double input_khz = kFilterNodeFromKhz;
  for (const std::uint64_t count : thrown_away) {
    FilterNodePoint point;
    point.input_khz = input_khz;
    point.offered = 500;
    point.thrown_away = count;
    point.cost = {12.5, 62, 0.25, 1.2};
    result.points.push_back(point);
    input_khz += kFilterNodeStepKhz;
  }
  return result;
}

TEST_CASE("the largest input is the last one below the first with thrown away slices") {
  CHECK(at({0, 0, 0, 9}).max_khz() == 60);
  CHECK(at({0, 3, 0, 9}).max_khz() == 40);
  CHECK(at({5}).max_khz() == 0);
  CHECK(at({}).max_khz() == 0);
}

TEST_CASE("a case without a largest input says why, and has no figure in table and lines") {
  FilterNodeResult busy = at({5, 7, 9, 9});
  CHECK_THAT(busy.without_max(), ContainsSubstring("5 of 500 slices were thrown away at 40 kHz"));
  CHECK_THAT(filter_node_page(lines_of(busy), {}, "a machine"), ContainsSubstring("| 50 | - |"));
  CHECK(lines_of(busy).front().at("max_khz").is_null());
  CHECK(at({0, 3}).without_max().empty());
  busy.node.emulated = false;  // one input, which is not raised
  CHECK(busy.without_max().empty());
}

TEST_CASE("the input is raised until slices are thrown away, and to the table's 70 kHz in any case") {
  CHECK(raises(at({0, 0, 0, 0, 0})));
  CHECK(raises(at({0, 7})));
  CHECK_FALSE(raises(at({0, 0, 0, 7})));
  CHECK(raises(at(std::vector<std::uint64_t>(26, 0))));
  CHECK_FALSE(raises(at(std::vector<std::uint64_t>(27, 0))));  // 300 kHz
  FilterNodeResult real = at({0});
  real.node.emulated = false;
  CHECK_FALSE(raises(real));
}

TEST_CASE("every case is a farm with the node's CPUs and filters, and slices grow with the input") {
  for (const FilterNodeCase& node : filter_node_cases()) {
    CAPTURE(node.label);
    for (const double input_khz : {40.0, 70.0, 100.0}) {
      const auto farm = config::read_farm(farm_text(node, input_khz, {0, 1}), "farm.yaml");
      REQUIRE(farm);
      REQUIRE(config::expand(farm->farm, farm->locations));
      CHECK(farm->farm.dcm().processing_units() == node.filters);
      CHECK(farm->farm.dcm().cpus_size() == 2);
      if (node.emulated) CHECK(farm->farm.source().size_bytes() == Approx(12'000 * input_khz / 70).margin(1));
    }
  }
}

TEST_CASE("the table has the thesis' values beside the measured ones, and the lines have every run") {
  Lines lines;
  for (const FilterNodeCase& node : filter_node_cases()) {
    FilterNodeResult result = at({0, 0, 0, 0, 9});
    result.node = node;
    for (const Line& line : lines_of(result)) lines.push_back(line);
  }
  const std::string page = filter_node_page(lines, {}, "a machine");
  CHECK_THAT(page,
             ContainsSubstring("| 1 x 1 | 20.2 | 12.50 | 51 | 62.0 | 7.5 | 0.25 | 36 | 1.2 | 50 | 70 |"));
  CHECK_THAT(page, ContainsSubstring("| met | 5.5.3: two 2-CPU nodes are just enough"));
  CHECK_THAT(page, ContainsSubstring("120 nodes like 2 x 2 (2 x 70 kHz / 70 kHz x 300/5)"));
  CHECK_THAT(page, ContainsSubstring("| 2 x 1, coincidence | - | 12.50 | - | 62.0 |"));
  CHECK(lines.size() == 20);
  CHECK(number_of(lines[10], "paper_max_khz") == 100);
}

}  // namespace
}  // namespace weir::bench
