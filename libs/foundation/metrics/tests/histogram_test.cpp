#include "weir_catch.hpp"
#include <weir/base/hash.hpp>
#include <weir/metrics/histogram.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using weir::mix64;
using weir::metrics::EncodedHistogram;
using weir::metrics::MetricsError;
using weir::metrics::ValueHistogram;

TEST_CASE("every bucket begins where the one before it ends, up to the largest 64-bit value") {
  REQUIRE(ValueHistogram::bucket_first(0) == 0);
  for (std::uint32_t bucket = 0; bucket + 1 < ValueHistogram::kBuckets; ++bucket) {
    REQUIRE(ValueHistogram::bucket_last(bucket) + 1 == ValueHistogram::bucket_first(bucket + 1));
    REQUIRE(ValueHistogram::bucket_of(ValueHistogram::bucket_first(bucket)) == bucket);
    REQUIRE(ValueHistogram::bucket_of(ValueHistogram::bucket_last(bucket)) == bucket);
  }
  REQUIRE(ValueHistogram::bucket_last(ValueHistogram::kBuckets - 1) == UINT64_MAX);
  REQUIRE(ValueHistogram::bucket_of(UINT64_MAX) == ValueHistogram::kBuckets - 1);
}

TEST_CASE("a histogram's percentiles are within 1/32 above the exact ones") {
  ValueHistogram histogram;
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::uint64_t value = mix64(i) >> (mix64(i + 1'000'000) % 60);
    values.push_back(value);
    histogram.record(value);
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {0.1, 10.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(percent / 100.0 * 20'000.0)));
    const std::uint64_t exact = values[rank - 1];
    const std::uint64_t shown = histogram.percentile(percent);
    CAPTURE(percent, exact, shown);
    CHECK(shown >= exact);
    CHECK(shown - exact <= exact / 32);
  }
  CHECK(histogram.max() == values.back());
  CHECK(histogram.min() == values.front());
  CHECK(histogram.percentile(100) == values.back());
}

TEST_CASE("values below 64 are kept exactly") {
  ValueHistogram histogram;
  for (std::uint64_t value = 0; value < 64; ++value) histogram.record(value);
  for (std::uint64_t value = 0; value < 64; ++value) {
    CHECK(histogram.percentile(100.0 * (static_cast<double>(value) + 0.5) / 64.0) == value);
  }
}

TEST_CASE("an empty histogram answers zero to every question") {
  const ValueHistogram histogram;
  CHECK(histogram.percentile(99) == 0);
  CHECK(histogram.min() == 0);
  CHECK(histogram.max() == 0);
  CHECK(histogram.mean() == 0.0);
  CHECK(histogram.encode().buckets.empty());
}

TEST_CASE("two merged histograms equal one that saw everything") {
  ValueHistogram both;
  ValueHistogram first;
  ValueHistogram second;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t value = mix64(i) % 1'000'000;
    both.record(value);
    (i % 3 == 0 ? first : second).record(value);
  }
  first.merge(second);
  CHECK(first == both);
  first.merge(ValueHistogram());
  CHECK(first == both);
}

TEST_CASE("a histogram survives encoding unchanged, and only filled buckets travel") {
  ValueHistogram histogram;
  histogram.record(7);
  histogram.record(1'000'000, 5);
  histogram.record(UINT64_MAX / 8);
  const EncodedHistogram encoded = histogram.encode();
  CHECK(encoded.buckets.size() == 3);
  const auto decoded = ValueHistogram::decode(encoded);
  REQUIRE(decoded);
  CHECK(*decoded == histogram);
  const auto empty = ValueHistogram::decode(ValueHistogram().encode());
  REQUIRE(empty);
  CHECK(*empty == ValueHistogram());
}

TEST_CASE("an encoded histogram that contradicts itself is refused by name") {
  ValueHistogram histogram;
  histogram.record(100);
  histogram.record(5000);
  const EncodedHistogram good = histogram.encode();

  const auto refused = [](const EncodedHistogram& bad) { return ValueHistogram::decode(bad).error(); };
  EncodedHistogram bad = good;
  bad.buckets[1].index = ValueHistogram::kBuckets;
  CHECK(refused(bad) == MetricsError::bucket_out_of_range);
  bad = good;
  std::swap(bad.buckets[0], bad.buckets[1]);
  CHECK(refused(bad) == MetricsError::buckets_not_ascending);
  bad = good;
  bad.buckets[1].index = bad.buckets[0].index;
  CHECK(refused(bad) == MetricsError::buckets_not_ascending);
  bad = good;
  bad.buckets[0].count = 0;
  CHECK(refused(bad) == MetricsError::bucket_empty);
  bad = good;
  bad.buckets[0].count = UINT64_MAX;
  CHECK(refused(bad) == MetricsError::count_overflow);
  bad = good;
  bad.max = UINT64_MAX;
  CHECK(refused(bad) == MetricsError::extremes_do_not_match);
  bad = EncodedHistogram{};
  bad.max = 3;
  CHECK(refused(bad) == MetricsError::extremes_do_not_match);
}

TEST_CASE(
    "the difference to an earlier histogram has the samples between, with extremes to a bucket's precision") {
  ValueHistogram histogram;
  histogram.record(3);
  histogram.record(1000, 5);
  const ValueHistogram earlier = histogram;
  CHECK(histogram.since(earlier) == ValueHistogram());
  histogram.record(200, 2);
  histogram.record(1001);
  const ValueHistogram difference = histogram.since(earlier);
  CHECK(difference.count() == 3);
  CHECK(difference.sum() == 1401);
  CHECK(difference.min() == 200);
  CHECK(difference.max() == 1001);
  CHECK(difference.percentile(50) == 203);
  CHECK(histogram.since(ValueHistogram()).count() == histogram.count());
}
