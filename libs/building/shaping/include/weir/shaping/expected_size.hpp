#pragma once

#include <algorithm>
#include <cstdint>

namespace weir::shaping {

// The expected length of a source's next fragment: the mean of its recent ones. Many requests are then
// charged their true total, however much sizes vary; with the last size, all requests before the next answer
// would be charged alike. Constant sizes are exact. Pure.
class ExpectedSize {
 public:
  void note(std::uint32_t bytes) {
    const std::int64_t now = std::int64_t{bytes} * kUnit;
    mean_ = mean_ < 0 ? now : mean_ + (now - mean_) / kFragments;
  }
  // Returns true if another fragment of this length changes nothing.
  [[nodiscard]] bool is_always(std::uint32_t bytes) const { return mean_ == std::int64_t{bytes} * kUnit; }
  [[nodiscard]] bool known() const { return mean_ >= 0; }
  // Returns bytes; 0 while unknown.
  [[nodiscard]] std::uint32_t bytes() const {
    return static_cast<std::uint32_t>((std::max<std::int64_t>(mean_, 0) + kUnit / 2) / kUnit);
  }

 private:
  static constexpr std::int64_t kFragments = 16;  // number of fragments with about two thirds of the weight
  static constexpr std::int64_t kUnit = 256;  // per byte: more than kFragments, so that the mean converges

  std::int64_t mean_ = -1;  // in units; below 0: unknown
};

}  // namespace weir::shaping
