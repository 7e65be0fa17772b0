#pragma once

#include "tuning.hpp"
#include <weir/base/time.hpp>

#include <array>
#include <cstdint>

namespace weir::shaping {

// Measurements of the time in which the window was the limit. Pure.
struct Epoch {
  DurationNs limited_ns = 0;
  std::uint64_t bytes = 0;
  std::uint32_t responses = 0;
  // Waiting times of the latest responses behind others, 0.1 us.
  std::array<std::uint32_t, 16 * tuning::kMany> times_us10{};

  void begin();
  [[nodiscard]] double rate() const;                // bytes per ns
  [[nodiscard]] DurationNs quantile(double share);  // of the response times
};

}  // namespace weir::shaping
