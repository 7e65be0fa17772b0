#pragma once

#include <weir/base/assert.hpp>
#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/hash.hpp>
#include <weir/base/ids.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace weir::emulation {

enum class SizeDistribution : std::uint8_t { fixed, uniform, exponential, log_normal };

[[nodiscard]] constexpr std::string_view name(SizeDistribution distribution) {
  constexpr std::string_view kNames[] = {"fixed", "uniform", "exponential", "log_normal"};
  return kNames[static_cast<std::size_t>(distribution)];
}

// Sizes of dummy fragments. The members have the names of the farm file's keys.
struct DummySettings {
  SizeDistribution distribution = SizeDistribution::fixed;
  std::uint32_t size_bytes = 1024;           // the size when fixed, the mean when exponential or log_normal
  std::uint32_t size_bytes_min = 0;          // uniform: from here ...
  std::uint32_t size_bytes_max = 1U << 20U;  // ... to here, both included; the others are clamped to the two
  double sigma = 0.5;                        // log_normal: standard deviation of the logarithm
  std::uint64_t seed = 1;
};

// Returns the number that determines a fragment's size and place in the pattern.
[[nodiscard]] constexpr std::uint64_t dummy_hash(std::uint64_t seed, SourceId source, SliceId slice) {
  return mix64(slice.value ^ mix64(seed ^ (std::uint64_t{source.value} << 32U)));
}

// The size of every dummy fragment, as a pure function of (settings, source, slice), so that receivers know
// what to expect. Distributions with a tail are divided into kQuantiles equally likely sizes, so that a draw
// costs one table look-up; for an exponential the largest is 9 times the mean.
class DummySizes {
 public:
  static constexpr std::size_t kQuantiles = 4096;

  // Requires: size_bytes_min <= size_bytes_max (asserted).
  explicit DummySizes(const DummySettings& settings) : settings_(settings) {
    WEIR_ASSERT(settings.size_bytes_min <= settings.size_bytes_max);
    if (settings.distribution == SizeDistribution::exponential ||
        settings.distribution == SizeDistribution::log_normal) {
      quantiles_.resize(kQuantiles);
      for (std::size_t i = 0; i < kQuantiles; ++i) {
        quantiles_[i] = clamped(quantile((static_cast<double>(i) + 0.5) / kQuantiles));
      }
    }
  }

  [[nodiscard]] std::uint32_t operator()(SourceId source, SliceId slice) const {
    switch (settings_.distribution) {
      case SizeDistribution::fixed:
        return clamped(settings_.size_bytes);
      case SizeDistribution::uniform: {
        const std::uint64_t choices = std::uint64_t{settings_.size_bytes_max} - settings_.size_bytes_min + 1;
        const std::uint64_t draw = dummy_hash(settings_.seed, source, slice) >> 32U;
        return settings_.size_bytes_min + static_cast<std::uint32_t>((draw * choices) >> 32U);
      }
      case SizeDistribution::exponential:
      case SizeDistribution::log_normal:
        break;
    }
    return quantiles_[dummy_hash(settings_.seed, source, slice) >> (64 - kQuantileBits)];
  }

  // Returns the size of the largest fragment.
  [[nodiscard]] std::uint32_t size_max() const {
    if (!quantiles_.empty()) return quantiles_.back();
    return settings_.distribution == SizeDistribution::fixed ? clamped(settings_.size_bytes)
                                                             : settings_.size_bytes_max;
  }

 private:
  static constexpr unsigned kQuantileBits = 12;
  static_assert(kQuantiles == std::size_t{1} << kQuantileBits);

  [[nodiscard]] std::uint32_t clamped(double size) const {
    return static_cast<std::uint32_t>(std::clamp(std::round(size), double{1} * settings_.size_bytes_min,
                                                 double{1} * settings_.size_bytes_max));
  }
  [[nodiscard]] double quantile(double p) const {
    const double mean = settings_.size_bytes;
    if (settings_.distribution == SizeDistribution::exponential) return -mean * std::log1p(-p);
    // The mean of a log-normal is exp(mu + sigma^2 / 2).
    const double sigma = settings_.sigma;
    return mean * std::exp(sigma * normal_quantile(p) - sigma * sigma / 2);
  }
  // Solves Phi(x) = p by bisection: once per table entry, so no approximation is needed.
  [[nodiscard]] static double normal_quantile(double p) {
    double low = -10;
    double high = 10;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
    }
    return low;
  }

  DummySettings settings_;
  std::vector<std::uint32_t> quantiles_;
};

// The bytes of every dummy fragment of a run. The run determines a pattern of kPeriod bytes, which is
// repeated without end; the fragment of (source, slice) begins at a byte of it that is hashed from the two. A
// fragment is therefore a reference into the pattern, and any byte of it can be checked anywhere. A fragment
// of another source or slice in its place goes unnoticed once in kPeriod times.
class DummyContent {
 public:
  static constexpr std::size_t kPeriod = std::size_t{256} * 1024;

  // Keeps kPeriod + size_max bytes, enough for fragments of up to size_max bytes.
  explicit DummyContent(RunNumber run, std::size_t size_max = 0)
      : run_(run), size_max_(size_max), pattern_(kPeriod + size_max) {
    for (std::size_t at = 0; at < kPeriod; at += sizeof(std::uint64_t)) {
      store_le<std::uint64_t>(pattern_.data() + at, mix64((std::uint64_t{run.value} << 32U) + at));
    }
    for (std::size_t at = kPeriod; at < pattern_.size(); at += kPeriod) {
      std::memcpy(pattern_.data() + at, pattern_.data(), std::min(kPeriod, pattern_.size() - at));
    }
  }

  [[nodiscard]] RunNumber run() const { return run_; }

  // Returns bytes that are valid as long as this object. Requires: `size` is at most size_max (asserted).
  [[nodiscard]] ConstBytes fragment(SourceId source, SliceId slice, std::size_t size) const {
    WEIR_ASSERT(size <= size_max_);
    return ConstBytes(pattern_).subspan(start(source, slice), size);
  }

  // Checks a fragment of any length. The error is the offset of its first wrong byte.
  [[nodiscard]] Expected<void, std::size_t> verify(SourceId source, SliceId slice, ConstBytes bytes) const {
    std::size_t from = start(source, slice);
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t n = std::min(bytes.size() - at, pattern_.size() - from);
      const std::byte* expected = pattern_.data() + from;
      if (std::memcmp(bytes.data() + at, expected, n) != 0) {
        const auto wrong = std::mismatch(expected, expected + n, bytes.data() + at).first;
        return Unexpected<std::size_t>(at + static_cast<std::size_t>(wrong - expected));
      }
      at += n;
      from = (from + n) % kPeriod;
    }
    return {};
  }

 private:
  [[nodiscard]] std::size_t start(SourceId source, SliceId slice) const {
    return dummy_hash(run_.value, source, slice) & (kPeriod - 1);
  }

  RunNumber run_;
  std::size_t size_max_;
  std::vector<std::byte> pattern_;
};

// Checks fragments of any run at the receiver, and keeps the pattern of the last one. Not thread-safe.
class DummyVerifier {
 public:
  // The error is the offset of the first wrong byte. The length is not checked here: see DummySizes.
  [[nodiscard]] Expected<void, std::size_t> verify(RunNumber run, SourceId source, SliceId slice,
                                                   ConstBytes bytes) {
    if (!content_ || content_->run() != run) content_.emplace(run);
    return content_->verify(source, slice, bytes);
  }

 private:
  std::optional<DummyContent> content_;
};

}  // namespace weir::emulation
