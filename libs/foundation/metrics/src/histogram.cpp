#include <weir/base/assert.hpp>
#include <weir/metrics/histogram.hpp>

#include <algorithm>
#include <cmath>

namespace weir::metrics {

std::string_view name(MetricsError error) {
  switch (error) {
    case MetricsError::bucket_out_of_range:
      return "bucket_out_of_range";
    case MetricsError::buckets_not_ascending:
      return "buckets_not_ascending";
    case MetricsError::bucket_empty:
      return "bucket_empty";
    case MetricsError::count_overflow:
      return "count_overflow";
    case MetricsError::extremes_do_not_match:
      return "extremes_do_not_match";
  }
  return "unknown";
}

std::uint64_t ValueHistogram::percentile(double percent) const {
  if (count_ == 0) return 0;
  const double share = std::clamp(percent, 0.0, 100.0) / 100.0;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  const std::uint64_t rank = std::clamp<std::uint64_t>(wanted, 1, count_);
  WEIR_ASSERT(min_ <= max_);
  std::uint64_t seen = 0;
  for (std::uint32_t bucket = bucket_of(min_); bucket < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen >= rank) return std::min(bucket_last(bucket), max_);
  }
  return max_;
}

double ValueHistogram::mean() const {
  return count_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

void ValueHistogram::merge(const ValueHistogram& other) {
  for (std::uint32_t bucket = 0; bucket < kBuckets; ++bucket) counts_[bucket] += other.counts_[bucket];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

ValueHistogram ValueHistogram::since(const ValueHistogram& earlier) const {
  ValueHistogram difference;
  for (std::uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
    const std::uint64_t before = std::min(earlier.counts_[bucket], counts_[bucket]);
    const std::uint64_t count = counts_[bucket] - before;
    if (count == 0) continue;
    difference.counts_[bucket] = count;
    difference.count_ += count;
    difference.min_ = std::min(difference.min_, std::max(bucket_first(bucket), min_));
    difference.max_ = std::min(bucket_last(bucket), max_);
  }
  if (difference.count_ > 0) difference.sum_ = sum_ - earlier.sum_;
  return difference;
}

void ValueHistogram::reset() { *this = ValueHistogram(); }

EncodedHistogram ValueHistogram::encode() const {
  EncodedHistogram encoded;
  encoded.min = min();
  encoded.max = max_;
  encoded.sum = sum_;
  for (std::uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
    if (counts_[bucket] > 0) encoded.buckets.push_back({bucket, counts_[bucket]});
  }
  return encoded;
}

Expected<ValueHistogram, MetricsError> ValueHistogram::decode(const EncodedHistogram& encoded) {
  ValueHistogram histogram;
  std::uint32_t next = 0;
  for (const auto& bucket : encoded.buckets) {
    if (bucket.index >= kBuckets) return Unexpected<MetricsError>(MetricsError::bucket_out_of_range);
    if (bucket.index < next) return Unexpected<MetricsError>(MetricsError::buckets_not_ascending);
    if (bucket.count == 0) return Unexpected<MetricsError>(MetricsError::bucket_empty);
    if (bucket.count > UINT64_MAX - histogram.count_)
      return Unexpected<MetricsError>(MetricsError::count_overflow);
    histogram.counts_[bucket.index] = bucket.count;
    histogram.count_ += bucket.count;
    next = bucket.index + 1;
  }
  if (encoded.buckets.empty()) {
    if (encoded.min != 0 || encoded.max != 0 || encoded.sum != 0) {
      return Unexpected<MetricsError>(MetricsError::extremes_do_not_match);
    }
    return histogram;
  }
  if (bucket_of(encoded.min) != encoded.buckets.front().index ||
      bucket_of(encoded.max) != encoded.buckets.back().index || encoded.min > encoded.max) {
    return Unexpected<MetricsError>(MetricsError::extremes_do_not_match);
  }
  histogram.min_ = encoded.min;
  histogram.max_ = encoded.max;
  WEIR_ASSERT(histogram.count_ > 0 && histogram.min_ <= histogram.max_);
  histogram.sum_ = encoded.sum;
  return histogram;
}

}  // namespace weir::metrics
