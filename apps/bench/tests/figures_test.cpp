#include "weir_catch.hpp"
#include <weir/bench/figures.hpp>

#include <algorithm>
#include <string>

namespace weir::bench {
namespace {

using Catch::Matchers::ContainsSubstring;

std::vector<NetworkResult> results_of(const NetworkOptions& options) {
  std::vector<NetworkResult> results;
  for (const NetworkPoint& point : expand(options)) {
    NetworkRun run;
    run.after_1s.share_of_theory = 0.5 + 0.001 * static_cast<double>(results.size());
    run.serialisation_us = 20'000;
    run.latency_us.record(20'000, 99);
    run.latency_us.record(220'000);
    results.push_back({point, {run}});
  }
  return results;
}

const Figure* find(const std::vector<Figure>& figures, const std::string& name) {
  const auto found =
      std::find_if(figures.begin(), figures.end(), [&](const Figure& figure) { return figure.name == name; });
  return found == figures.end() ? nullptr : &*found;
}

TEST_CASE("the axis is the first setting that differs, the series what else differs") {
  NetworkOptions options;
  options.window_bytes = {36'000, 72'000};
  options.congestion = {"cubic", "bbr"};
  auto results = results_of(options);
  const Axis axis = axis_of(results);
  CHECK(axis.label == "window of each DCM, kB");
  CHECK(axis.value(results[1].point) == 72);
  CHECK(series_of(results[0].point, results, axis) == "cubic");
  CHECK(series_of(results[0].point, results, {}) == "36 kB, cubic");
  options.window_bytes = {72'000};
  options.loads = {0.5, 0.9};
  results = results_of(options);
  CHECK(axis_of(results).label == "offered, % of theory");
}

TEST_CASE("quotas alone are drawn in fragments, beside windows in bytes in bytes") {
  NetworkOptions options;
  options.shapers = {"fragment-credits"};
  options.window_fragments = {1, 2};
  CHECK(axis_of(results_of(options)).label == "quota of each DCM, fragments");
  options.name = "test";
  options.fragment_bytes = {1'024};
  CHECK_THAT(figures_of(results_of(options), options).front().script,
             ContainsSubstring("set arrow from 100, graph 0"));  // where 100 k are full
  options.fragment_bytes = {65'536};
  options.shapers = {"fragment-credits", "byte-credits"};
  const auto results = results_of(options);
  CHECK(axis_of(results).label == "window of each DCM, kB");
  CHECK(axis_of(results).value(results[1].point) == Approx(131.072));
}

TEST_CASE("one window of each of two shapers is no axis") {
  NetworkOptions options;
  options.shapers = {"fragment-credits", "byte-credits"};
  CHECK(axis_of(results_of(options)).value == nullptr);
}

TEST_CASE("a shaper without a window is a level from end to end") {
  NetworkOptions options;
  options.name = "test";
  options.shapers = {"byte-credits", "none"};
  options.window_bytes = {10'000, 20'000, 30'000};
  const auto figures = figures_of(results_of(options), options);
  const Figure* goodput = find(figures, "test-goodput");
  REQUIRE(goodput != nullptr);
  CHECK_THAT(goodput->data, ContainsSubstring("# byte-credits\n10 50.00 0.000 0.000 0.000 20.000\n20 50.10"));
  CHECK_THAT(goodput->data, ContainsSubstring("# none\n10 50.30 0.000 0.000 0.000 20.000\n30 50.30"));
  CHECK_THAT(goodput->script, ContainsSubstring("set output 'test-goodput.svg'"));
  CHECK_THAT(goodput->script, ContainsSubstring("set xlabel 'window of each DCM, kB'"));
  CHECK_THAT(goodput->script, ContainsSubstring("index 1 using 1:2"));
  CHECK(find(figures, "test-latency") != nullptr);
}

TEST_CASE("a distribution steps down from all slices to below its axis") {
  NetworkOptions options;
  options.name = "test";
  options.shapers = {"none", "adaptive"};
  const auto figures = figures_of(results_of(options), options);
  REQUIRE(figures.size() == 1);  // nothing to draw along
  CHECK(figures[0].name == "test-distribution");
  CHECK_THAT(figures[0].data,
             ContainsSubstring("# none\n20 100\n20.479 1.0000\n221.183 0.0250\n\n\n# adaptive"));
}

TEST_CASE("arrivals are drawn of a slow slice") {
  NetworkOptions options;
  options.name = "test";
  auto results = results_of(options);
  results[0].runs[0].arrivals =
      "slice,readout,us,bytes\n7,0,100.000,1000\n8,0,300.000,500\n8,1,500.000,1500\n9,0,8000.000,500\n"
      "9,1,9000.000,1500\nnonsense\n";
  const auto figures = figures_of(results, options);
  const Figure* arrivals = find(figures, "test-arrivals");
  REQUIRE(arrivals != nullptr);
  CHECK_THAT(arrivals->data, ContainsSubstring("0 0\n8.000 0.50\n9.000 2.00\n\n"));
  CHECK_THAT(arrivals->data, ContainsSubstring("# the port's rate\n0 0\n20.000 524.54\n"));
}

TEST_CASE("the table has a line per point and the command that made it") {
  NetworkOptions options;
  options.name = "test";
  options.command = "weir bench incast --windows 36000,72000";
  options.window_bytes = {36'000, 72'000};
  const auto results = results_of(options);
  const std::string table = table_of(results, options, figures_of(results, options), "2 cores");
  CHECK_THAT(table, ContainsSubstring("weir bench incast --windows 36000,72000\n"));
  CHECK_THAT(table, ContainsSubstring("| 36 kB | 50.0 |"));
  CHECK_THAT(table, ContainsSubstring("| 72 kB | 50.1 |"));
  CHECK_THAT(table, ContainsSubstring("(test-goodput.svg)"));
}

}  // namespace
}  // namespace weir::bench
