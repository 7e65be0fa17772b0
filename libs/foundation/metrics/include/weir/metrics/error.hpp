#pragma once

#include <cstdint>
#include <string_view>

namespace weir::metrics {

enum class MetricsError : std::uint8_t {
  bucket_out_of_range,    // an encoded bucket's index is beyond the last one
  buckets_not_ascending,  // encoded buckets are ordered by index, each once
  bucket_empty,           // an encoded bucket has a count of 0
  count_overflow,         // the sum of the counts exceeds 64 bits
  extremes_do_not_match   // minimum or maximum is outside the first or last bucket
};

[[nodiscard]] std::string_view name(MetricsError error);

}  // namespace weir::metrics
