#pragma once

#include <cstdint>

namespace weir {

using TimeNs = std::int64_t;      // reading of a monotonic clock, in ns; only differences have a meaning
using UtcNs = std::int64_t;       // ns since 1970-01-01T00:00Z
using DurationNs = std::int64_t;  //

constexpr DurationNs kMicrosecond = 1'000;
constexpr DurationNs kMillisecond = 1'000'000;
constexpr DurationNs kSecond = 1'000'000'000;

}  // namespace weir
