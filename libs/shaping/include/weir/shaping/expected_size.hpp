#pragma once

#include <algorithm>
#include <cstdint>

namespace weir::shaping {

// How long a source's next fragment will be: the mean of its late ones. What is charged for many requests is
// then what they bring, however much sizes differ; the last size alone would be charged for all requests that
// go before the next answer. Sizes that stay the same are told exactly. Pure.
class ExpectedSize {
 public:
  void note(std::uint32_t bytes) {
    const std::int64_t now = std::int64_t{bytes} * kUnit;
    mean_ = mean_ < 0 ? now : mean_ + (now - mean_) / kFragments;
  }
  // One more of this length changes nothing.
  [[nodiscard]] bool is_always(std::uint32_t bytes) const { return mean_ == std::int64_t{bytes} * kUnit; }
  [[nodiscard]] bool known() const { return mean_ >= 0; }
  // Bytes; 0 while nothing is known.
  [[nodiscard]] std::uint32_t bytes() const {
    return static_cast<std::uint32_t>((std::max<std::int64_t>(mean_, 0) + kUnit / 2) / kUnit);
  }

 private:
  static constexpr std::int64_t kFragments = 16;  // that count for about two thirds
  static constexpr std::int64_t kUnit = 256;      // of a byte: more than kFragments, so that the mean arrives

  std::int64_t mean_ = -1;  // in units; below 0: not known
};

}  // namespace weir::shaping
