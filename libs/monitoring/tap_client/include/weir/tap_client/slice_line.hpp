#pragma once

#include <weir/tap_client/tap_client.hpp>

#include <cstdint>
#include <string>

namespace weir::tap_client {

struct SliceFacts {
  std::uint64_t fragments = 0;  // with bytes in the sample
  std::uint64_t missing = 0;
};
[[nodiscard]] SliceFacts facts_of(const storage::SliceRecordView& record);

// Returns a sample as one JSON object without a line feed. Ids, times and byte counts of 64 bits are text, as
// in runs.jsonl: many readers of JSON round numbers above 2^53.
[[nodiscard]] std::string json_line(const SampledSlice& slice);

}  // namespace weir::tap_client
