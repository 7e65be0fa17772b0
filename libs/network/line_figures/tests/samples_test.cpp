#include "weir_catch.hpp"
#include <weir/line_figures/samples.hpp>

namespace weir::line_figures {
namespace {

TEST_CASE("percentiles are samples, and mean and sigma are of all of them") {
  std::vector<double> samples;
  for (int i = 100; i >= 1; --i) samples.push_back(i);
  const SampleStatistics summary = statistics_of(samples);
  CHECK(summary.count == 100);
  CHECK(summary.least == 1);
  CHECK(summary.p50 == 50);
  CHECK(summary.p90 == 90);
  CHECK(summary.p99 == 99);
  CHECK(summary.most == 100);
  CHECK(summary.mean == Approx(50.5));
  CHECK(summary.sigma == Approx(28.866).epsilon(0.001));
  CHECK(statistics_of({}).count == 0);
  CHECK(statistics_of(std::vector{3.0}).p99 == 3);
}

TEST_CASE("a histogram holds every sample, the largest in its last bin") {
  const std::vector<double> samples{0, 1, 2, 3, 4, 10};
  const std::vector<Bin> histogram = histogram_of(samples, 5);
  REQUIRE(histogram.size() == 5);
  CHECK(histogram[0].count == 2);
  CHECK(histogram[1].count == 2);
  CHECK(histogram[2].count == 1);
  CHECK(histogram[4].count == 1);
  CHECK(histogram[4].to == Approx(10));
  CHECK(histogram_of(std::vector{2.0, 2.0}, 5).size() == 1);
  CHECK(histogram_of({}, 5).empty());
}

TEST_CASE("the cost of a message is a constant and a part that grows with its bytes") {
  const std::vector<std::pair<double, double>> points{{64, 3.064}, {1024, 4.024}, {16384, 19.384}};
  const auto cost = fit_cost(points);
  REQUIRE(cost);
  CHECK(cost->per_message == Approx(3));
  CHECK(cost->per_byte == Approx(0.001));
  CHECK(deviation_of(*cost, points) == Approx(0).margin(1e-9));
  CHECK(deviation_of({3, 0.001}, std::vector<std::pair<double, double>>{{1000, 8}, {64, 3.064}, {64, 0}}) ==
        Approx(0.5));
  CHECK_FALSE(fit_cost(std::vector<std::pair<double, double>>{{64, 1}, {64, 2}}));
  CHECK_FALSE(fit_cost(std::vector<std::pair<double, double>>{{64, 1}, {1024, 0}}));
}

TEST_CASE("no part of a message's cost is negative") {
  // Long messages leave the caches: a straight line through all sizes would begin below 0.
  const std::vector<std::pair<double, double>> steeper{{64, 0.3}, {1024, 0.5}, {16384, 5}, {262144, 160}};
  const auto convex = fit_cost(steeper);
  REQUIRE(convex);
  CHECK(convex->per_message > 0.1);
  CHECK(convex->per_message < 0.5);
  CHECK(convex->per_byte > 0);
  const auto begins_at_0 =
      fit_cost(std::vector<std::pair<double, double>>{{100, 0.1}, {1000, 2}, {10000, 30}});
  REQUIRE(begins_at_0);
  CHECK(begins_at_0->per_message == 0);
  CHECK(begins_at_0->per_byte > 0);
  const auto falls = fit_cost(std::vector<std::pair<double, double>>{{64, 3}, {1024, 2}});
  REQUIRE(falls);
  CHECK(falls->per_byte == 0);
  CHECK(falls->per_message > 2);
  CHECK(falls->per_message < 3);
}

}  // namespace
}  // namespace weir::line_figures
