#include "weir_catch.hpp"
#include "written_text.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/rcnp.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>

using namespace weir::bench;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

TEST_CASE("a line through points on a line has R^2 of 1, and less with one point beside it") {
  const FittedLine line = line_through({1, 2, 4, 8}, {3, 5, 9, 17});
  CHECK_THAT(line.slope, WithinAbs(2, 1e-9));
  CHECK_THAT(line.intercept, WithinAbs(1, 1e-9));
  CHECK_THAT(line.r_squared, WithinAbs(1, 1e-9));
  CHECK(line_through({1, 2, 4, 8}, {3, 5, 9, 12}).r_squared < 0.99);
}

TEST_CASE("draws follow the distribution, and a sum of ten has ten times its mean") {
  // A half of the times is 100 us, the other 300 us.
  const std::vector<TimeAbove> times{{100, 0.5}, {300, 0}};
  CHECK_THAT(mean_us_of(times), WithinAbs(200, 1e-9));
  CHECK(percentile_us_of(times, 50) == 100);
  CHECK(percentile_us_of(times, 99) == 300);
  const std::vector<TimeAbove> sum = sum_of_draws(times, 10, 1);
  CHECK_THAT(mean_us_of(sum), WithinAbs(2000, 20));
  CHECK(percentile_us_of(sum, 99) <= 3000);
  CHECK(percentile_us_of(sum, 99) > 2200);
}

TEST_CASE("the peak above a time is the middle of the fullest bin, and there is none without such times") {
  // 60 % below 20 ms, 30 % between 190 and 200 ms, the rest in between.
  const std::vector<TimeAbove> times{
      {20'000, 0.4}, {60'000, 0.35}, {120'000, 0.3}, {190'000, 0.3}, {200'000, 0}};
  CHECK_THAT(peak_us_of(times, 50'000, 10'000), WithinAbs(195'000, 5'000));
  CHECK(peak_us_of({{20'000, 0.4}, {40'000, 0}}, 50'000, 10'000) == 0);
  CHECK_THAT(peak_us_of({{9'000, 0.2}, {13'400, 0.1}, {14'000, 0}}, 10'000, 1000), WithinAbs(13'500, 1));
}

TEST_CASE("figure 15 has the paper's order only where each step rises") {
  const auto figure = std::ranges::find(rcnp_figures(), "15", &RcnpFigure::id);
  REQUIRE(figure != rcnp_figures().end());
  const auto table = [&](double without, double split, double single) {
    std::vector<RcnpResult> results;
    for (const double ms : {without, split, single}) {
      RcnpResult& result = results.emplace_back();
      result.point = figure->points[results.size() - 1];
      result.selection_ms = ms;
    }
    return rcnp_page(*figure, results, {}, "a machine");
  };
  CHECK_THAT(table(2.888, 2.885, 3.882),
             ContainsSubstring("| not met | VI.G, Figure 15b: event building in the other farm") &&
                 ContainsSubstring("| met | VI.G: a single farm raises it further"));
  CHECK_THAT(table(1.5, 1.9, 2.8),
             ContainsSubstring("| met | VI.G, Figure 15b: event building in the other farm"));
  CHECK_THAT(table(1.5, 2.6, 1.9), ContainsSubstring("| not met | VI.G: a single farm raises it further"));
}

TEST_CASE("a source holds rate times lifetime, and with packed decisions half a packet more") {
  const std::vector<TimeAbove> always{{1000, 0}};  // 1 ms
  const Occupancy alone = occupancy_of(always, 100'000, 1, 1);
  CHECK_THAT(alone.mean_slices, WithinAbs(100, 2));
  const Occupancy packed = occupancy_of(always, 100'000, 10, 1);
  CHECK_THAT(packed.mean_slices, WithinAbs(alone.mean_slices + 4.5, 1));
  CHECK(packed.max_slices > alone.max_slices);
  // Over time: two seconds at 100 kHz.
  REQUIRE(packed.slices.size() == 500);
  CHECK_THAT(packed.sample_ms, WithinAbs(4, 1e-9));
  CHECK_THAT(packed.slices.back(), WithinAbs(packed.mean_slices, 10));
  CHECK(std::ranges::max(packed.slices) <= packed.max_slices);
}

namespace {

// The figure's table with these mean decision times, and CPU times of 1, 2, 3, ... ms.
std::string table_of(const std::string& id, const std::vector<double>& means_ms,
                     const std::vector<TimeAbove>& above = {{100, 0.5}, {300, 0}}) {
  const auto figure = std::ranges::find(rcnp_figures(), id, &RcnpFigure::id);
  REQUIRE(figure != rcnp_figures().end());
  std::vector<RcnpResult> results;
  for (const double ms : means_ms) {
    RcnpResult& result = results.emplace_back();
    result.point = figure->points.at(results.size() - 1);
    result.mean_ms = ms;
    result.filter_ms = static_cast<double>(results.size());
    result.algorithm_ms = 0.25;
    result.above = above;
  }
  return rcnp_page(*figure, results, {}, "a machine");
}

}  // namespace

TEST_CASE("a busy machine gets no verdict, and two runs that disagree are not met") {
  const auto figure = std::ranges::find(rcnp_figures(), "8", &RcnpFigure::id);
  REQUIRE(figure != rcnp_figures().end());
  std::vector<RcnpResult> results(4);
  const double means_ms[] = {1, 2, 2, 1};
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].point = figure->points[i % 2];
    results[i].run = i < 2 ? 1 : 2;
    results[i].mean_ms = means_ms[i];
  }
  CHECK_THAT(rcnp_page(*figure, results, {}, "a machine"),
             ContainsSubstring("The shape differed between the runs.") &&
                 ContainsSubstring("| not met: the runs differ | VI.C") &&
                 ContainsSubstring("2.00 times; 0.50 times"));
  results.resize(2);
  results.front().other_cores = 1000;
  CHECK_THAT(rcnp_page(*figure, results, {}, "a machine"),
             ContainsSubstring("| no verdict: the machine was busy | VI.C"));
}

TEST_CASE("earlier lines are judged by each of their runs") {
  const auto figure = std::ranges::find(rcnp_figures(), "8", &RcnpFigure::id);
  REQUIRE(figure != rcnp_figures().end());
  const weir::ScratchFolder folder;
  RcnpOptions options;
  options.figure = "8";
  options.judge = (folder.path() / "lines.jsonl").string();
  std::ofstream file(options.judge);
  for (int i = 0; i < 2; ++i) {
    RcnpResult result;
    result.point = figure->points[i];
    result.mean_ms = 1.5;
    Line line = line_of(*figure, result);
    line["runs"] = {{{"decision_mean_ms", 1 + i}}, {{"decision_mean_ms", 2 - i}}};
    file << boost::json::serialize(line) << '\n';
  }
  file.close();
  std::FILE* out = std::tmpfile();
  REQUIRE(out != nullptr);
  CHECK(run_rcnp(options, out, stderr) == 0);
  CHECK_THAT(written_text(out), ContainsSubstring("| not met: the runs differ | VI.C") &&
                                    ContainsSubstring("2.00 times; 0.50 times"));
}

TEST_CASE("the paper's values are beside ours, and its statements are met or not") {
  CHECK_THAT(table_of("8", {1.25, 2}), ContainsSubstring("| 3 + 3 nodes | 0.0 | 2.4 | 1.250 |"));
  CHECK_THAT(table_of("8", {1.25, 2}), ContainsSubstring("| met | VI.C"));
  CHECK_THAT(table_of("8", {2, 1.25}), ContainsSubstring("| not met | VI.C"));
  // Percentiles are compared: the same mean is not enough.
  CHECK_THAT(table_of("9", {0.2, 2.1}), ContainsSubstring("| not met | VI.D"));
  CHECK_THAT(table_of("7", {50}), ContainsSubstring("| met | VI.B, Figure 7b"));
  CHECK_THAT(table_of("7", {50}, {{200'000, 0}}), ContainsSubstring("| not met | VI.B, Figure 7b"));
  // 2 MB are little, and too much for a mean of 10 ms.
  CHECK_THAT(table_of("7", {10}, {{20'000, 0}}), ContainsSubstring("| not met | VI.B, Figure 7b"));
  const std::vector<TimeAbove> full{{10'000, 0.3}, {192'000, 0.3}, {198'000, 0}};
  CHECK_THAT(table_of("10a", {80, 14}, full), ContainsSubstring("| met | VI.E, Figure 10a"));
  CHECK_THAT(table_of("10a", {80, 14}), ContainsSubstring("| not met | VI.E, Figure 10a"));
  CHECK_THAT(table_of("10a", {80, 14}, full), ContainsSubstring("| met | VI.E: with a schedule table"));
  CHECK_THAT(table_of("10a", {80, 21}, full), ContainsSubstring("| not met | VI.E: with a schedule table"));
  CHECK_THAT(table_of("steps", {1, 1, 1}), ContainsSubstring("| not met | VI.A"));
  CHECK_THAT(table_of("table1", {1}),
             ContainsSubstring("becomes faster | VI.A: the algorithm has at most 20 %"));
  // 1 ms a slice, at 100 kHz with half-busy processors.
  CHECK_THAT(table_of("table1", {1}), ContainsSubstring("busy half of the time: 200 processors"));
  CHECK_THAT(table_of("sources", {1, 1}), ContainsSubstring("| not met | V.B: with the zero copy library") &&
                                              ContainsSubstring("2.00 times"));
  // 0.25 of 1 ms of CPU time are the algorithm, the rest of the filter is the copy.
  CHECK_THAT(table_of("table1", {1}), ContainsSubstring("| algorithm | 6 % | 11 % | 18 % | 25 % |"));
  CHECK_THAT(table_of("table1", {1}), ContainsSubstring("| 12 % | 26 % | 33 % | 75 % |"));
}

TEST_CASE("every figure names its points, the paper's values and the reason of the difference") {
  for (const RcnpFigure& figure : rcnp_figures()) {
    CAPTURE(figure.id);
    CHECK_FALSE(figure.points.empty());
    CHECK_FALSE(figure.paper.empty());
    CHECK_FALSE(figure.differs.empty());
    std::vector<RcnpResult> results;
    for (const RcnpPoint& point : figure.points) {
      RcnpResult result;
      result.point = point;
      result.filter_ms = 0.2 * point.x;
      result.above = {{100, 0.5}, {300, 0}};
      results.push_back(result);
    }
    const std::string table = rcnp_page(figure, results, {}, "a machine");
    CHECK_THAT(table, Catch::ContainsSubstring("The paper: " + figure.paper));
    CHECK_THAT(table, Catch::ContainsSubstring(figure.points.back().label));
    if (!figure.x.empty()) CHECK_THAT(table, Catch::ContainsSubstring("R^2 = 1.0000"));
    // Every row has as many cells as the head.
    const auto cells = [&](const std::string& begin) {
      const std::size_t at = table.find("\n" + begin);
      REQUIRE(at != std::string::npos);
      return std::count(table.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                        table.begin() + static_cast<std::ptrdiff_t>(table.find('\n', at + 1)), '|');
    };
    CHECK(cells("| farm") == cells("| ---"));
    CHECK(cells("| farm") == cells("| " + figure.points.front().label));
  }
}
