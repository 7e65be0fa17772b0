#include "weir_catch.hpp"
#include <weir/filter_host/filter_metrics.hpp>

#include <cmath>
#include <limits>

using namespace weir::filter_host;

TEST_CASE("counters of all instances add up under their name") {
  FilterMetrics metrics;
  auto& one = metrics.add_instance();
  auto& two = metrics.add_instance();
  CHECK(one.counter("hits") == two.counter("hits"));
  one.count(one.counter("hits"), 3);
  two.count(two.counter("hits"), 4);
  two.count(FilterMetrics::kNone, 100);
  CHECK(metrics.snapshot().counters.at("hits") == 7);
  CHECK(metrics.snapshot().counters.at("filter_error") == 0);
}

TEST_CASE("histograms keep count, sum, extremes and quantiles within a bucket's width") {
  FilterMetrics metrics;
  auto& one = metrics.add_instance();
  auto& two = metrics.add_instance();
  const auto a = one.histogram("us");
  const auto b = two.histogram("us");
  for (int i = 1; i <= 500; ++i) one.record(a, i);
  for (int i = 501; i <= 1000; ++i) two.record(b, i);
  two.record(b, std::numeric_limits<double>::quiet_NaN());
  const HistogramSnapshot histogram = metrics.snapshot().histograms.at("us");
  CHECK(histogram.count == 1000);
  CHECK(histogram.sum == 500500);
  CHECK(histogram.min == 1);
  CHECK(histogram.max == 1000);
  CHECK(std::abs(histogram.quantile(0.5) - 500) < 500 * 0.13);
  CHECK(std::abs(histogram.quantile(0.99) - 990) < 990 * 0.13);
  CHECK(histogram.quantile(1) == 1000);
  CHECK(histogram.quantile(0) >= 1);
}

TEST_CASE("every number has a bucket that holds it") {
  for (const double value : {1e-300, 2.5e-10, 0.1, 0.999, 1.0, 1.0625, 3.0, 1e6, 4.29e9}) {
    const std::size_t bucket = HistogramSnapshot::bucket_of(value);
    REQUIRE(bucket < HistogramSnapshot::kBuckets);
    CHECK(value < HistogramSnapshot::upper_bound(bucket));
    if (bucket > 0) CHECK(value >= HistogramSnapshot::upper_bound(bucket - 1));
  }
  CHECK(HistogramSnapshot::bucket_of(-1) == 0);
  CHECK(HistogramSnapshot::bucket_of(0) == 0);
  CHECK(HistogramSnapshot::bucket_of(1e300) == HistogramSnapshot::kBuckets - 1);
  CHECK(HistogramSnapshot::bucket_of(std::numeric_limits<double>::infinity()) ==
        HistogramSnapshot::kBuckets - 1);
}

TEST_CASE("an empty histogram has quantiles of zero") { CHECK(HistogramSnapshot{}.quantile(0.5) == 0); }

TEST_CASE("metrics beyond the limit are refused and counted") {
  FilterMetrics metrics;
  auto& cells = metrics.add_instance();
  std::uint32_t refused = 0;
  for (std::size_t i = 0; i < FilterMetrics::kHistogramsMax + 2; ++i) {
    if (cells.histogram("h" + std::to_string(i)) == FilterMetrics::kNone) ++refused;
  }
  CHECK(refused == 2);
  CHECK(metrics.snapshot().counters.at("filter_metric_refused") == 2);
}
