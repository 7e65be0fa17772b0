#include "weir_catch.hpp"
#include <weir/bench/network.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/lab/plan.hpp>
#include <weir/run_record/summary.hpp>

#include <boost/json.hpp>

namespace weir::bench {
namespace {

TEST_CASE("a sweep has every combination, windows only of shapers that have them") {
  NetworkOptions options;
  options.shapers = {"none", "byte-credits", "fragment-credits"};
  options.window_bytes = {36'000, 72'000};
  options.window_fragments = {1, 2, 4};
  options.congestion = {"cubic", "bbr"};
  const auto points = expand(options);
  REQUIRE(points.size() == 2 * (1 + 2 + 3));
  CHECK(points[0].shaper == "none");
  CHECK(points[2].window_bytes == 36'000);
  CHECK(points[2].window_fragments == 0);
  CHECK(points.back().window_fragments == 4);
  CHECK(points.back().congestion == "bbr");
}

TEST_CASE("in incast there is one DCM, all to all a readout and some DCMs on each host") {
  NetworkOptions options;
  CHECK(expand(options).front().dcms == 1);
  options.pattern = Pattern::all_to_all;
  options.readouts = {6};
  CHECK(expand(options).front().dcms == 12);
}

TEST_CASE("the farm and the lab of every kind of point are good") {
  NetworkOptions options;
  options.shapers = {"none", "byte-credits", "fragment-credits", "diatcp", "paced", "adaptive"};
  options.window_segments = {0, 4};
  options.fragment_bytes = {1'024, 1'048'576};
  options.fragments = {1, 12};
  options.loads = {0, 0.5};
  options.trace = 10;
  for (const Pattern pattern : {Pattern::incast, Pattern::all_to_all}) {
    options.pattern = pattern;
    for (const NetworkPoint& point : expand(options)) {
      const std::string text = farm_text(point, options, point.load * 100);
      INFO(describe(point) << "\n" << text);
      const auto farm = config::read_farm(text, "farm.yaml");
      REQUIRE(farm.has_value());
      CHECK(config::to_text(config::validate(farm->farm, farm->locations)).empty());
      const auto plan = config::expand(farm->farm, farm->locations);
      REQUIRE(plan.has_value());
      const auto lab_file = config::read_lab(lab_text(point, options), "lab.yaml");
      REQUIRE(lab_file.has_value());
      const auto lab = lab::plan_lab(*lab_file, &*plan);
      REQUIRE(lab.has_value());
      CHECK(lab->hosts.size() == (pattern == Pattern::incast ? 9 : 8));
    }
  }
}

TEST_CASE("a line has the settings, and latencies relative to the time of a single slice") {
  NetworkOptions options;
  run_record::Summary summary;
  CHECK_FALSE(network_run_of(summary));  // nothing after the first second
  summary.after_1s.emplace();
  summary.theory.serialisation_us = 22'000;
  summary.after_1s->latency_us.p99 = 33'000;
  summary.foreign = {{"h2", "h0", 60'000'000, 30'000'000, 8}, {"h3", "h0", 0, 7'000'000, 8}};
  const auto run = network_run_of(summary);
  REQUIRE(run);
  const Line line = line_of(expand(options).front(), options, *run, {}, {});
  CHECK(line.at("bench").as_string() == "incast");
  CHECK(line.at("window_bytes").to_number<int>() == 72'000);
  CHECK(line.at("port_rate").as_string() == "200mbit");
  CHECK(line.at("p99_over_serialisation").to_number<double>() == 1.5);
  CHECK(line.at("foreign_share").to_number<double>() == 0.5);
  CHECK(line.at("after_1s").at("p99_us").to_number<double>() == 33'000);
  CHECK(line.at("rounds").to_number<int>() == 1);
}

}  // namespace
}  // namespace weir::bench
