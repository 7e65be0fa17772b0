#pragma once

#include <cstdint>
#include <string_view>

namespace weir::metrics {

enum class MetricsError : std::uint8_t {
  bucket_out_of_range,    // an encoded bucket's index is beyond the last one
  buckets_not_ascending,  // encoded buckets are ordered by index, each once
  bucket_empty,           // an encoded bucket holds nothing
  count_overflow,         // the counts do not fit 64 bits together
  extremes_do_not_match   // minimum or maximum lie outside the first or last bucket
};

[[nodiscard]] std::string_view name(MetricsError error);

}  // namespace weir::metrics
