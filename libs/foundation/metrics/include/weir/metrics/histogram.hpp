#pragma once

#include <weir/base/expected.hpp>
#include <weir/metrics/error.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::metrics {

// An encoded histogram: only the buckets that are not empty, by ascending index.
struct EncodedHistogram {
  struct Bucket {
    std::uint32_t index = 0;
    std::uint64_t count = 0;
    bool operator==(const Bucket&) const = default;
  };
  std::vector<Bucket> buckets;
  std::uint64_t min = 0;  // 0 when empty, like max and sum
  std::uint64_t max = 0;
  std::uint64_t sum = 0;
};

// The distribution of 64-bit values in log-linear buckets (the layout of HdrHistogram: each power of two is
// divided into 32 equal parts). Values below 64 are exact, all others within 1/32 of their size. The unit is
// the user's. Recording a value costs a few ns and never allocates; a histogram always has 15 kB. Not
// thread-safe.
class ValueHistogram {
 public:
  static constexpr unsigned kSubBucketBits = 5;
  static constexpr std::uint32_t kSubBuckets = 1U << kSubBucketBits;
  static constexpr std::uint32_t kBuckets = (64 - kSubBucketBits + 1) * kSubBuckets;

  ValueHistogram() : counts_(kBuckets, 0) {}

  void record(std::uint64_t value, std::uint64_t times = 1) {
    if (times == 0) return;
    counts_[bucket_of(value)] += times;
    count_ += times;
    sum_ += value * times;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
  }

  // Returns the smallest value that at least `percent` (0 to 100) of the values do not exceed, rounded up to
  // its bucket's end, and at most max(). 0 if empty.
  [[nodiscard]] std::uint64_t percentile(double percent) const;

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }  // mod 2^64
  [[nodiscard]] std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }
  [[nodiscard]] double mean() const;

  void merge(const ValueHistogram& other);
  // Returns the values recorded since this histogram was equal to `earlier`. Its extremes are bucket edges:
  // min() the lower one, max() the upper one, within this histogram's own.
  [[nodiscard]] ValueHistogram since(const ValueHistogram& earlier) const;
  void reset();

  [[nodiscard]] EncodedHistogram encode() const;
  // Decodes a histogram from outside; every field is checked.
  [[nodiscard]] static Expected<ValueHistogram, MetricsError> decode(const EncodedHistogram& encoded);

  bool operator==(const ValueHistogram&) const = default;

  [[nodiscard]] static constexpr std::uint32_t bucket_of(std::uint64_t value) {
    if (value < kSubBuckets) return static_cast<std::uint32_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - (kSubBucketBits + 1);
    return shift * kSubBuckets + static_cast<std::uint32_t>(value >> shift);
  }
  // Returns the smallest or the largest value of the bucket.
  [[nodiscard]] static constexpr std::uint64_t bucket_first(std::uint32_t bucket) {
    if (bucket < 2 * kSubBuckets) return bucket;
    const unsigned shift = bucket / kSubBuckets - 1;
    return static_cast<std::uint64_t>(bucket - shift * kSubBuckets) << shift;
  }
  [[nodiscard]] static constexpr std::uint64_t bucket_last(std::uint32_t bucket) {
    if (bucket < 2 * kSubBuckets) return bucket;
    return bucket_first(bucket) + ((std::uint64_t{1} << (bucket / kSubBuckets - 1)) - 1);
  }

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t min_ = UINT64_MAX;
  std::uint64_t max_ = 0;
};

}  // namespace weir::metrics
