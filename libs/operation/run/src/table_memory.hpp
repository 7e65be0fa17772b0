#pragma once

#include <weir/config/expected_sizes.hpp>

#include <cstddef>
#include <cstdint>

namespace weir::run {

struct ReadoutTables {
  std::uint64_t slices_max;  // of which it holds fragments
  std::uint64_t buffer_bytes;
};
struct DcmTables {
  std::uint64_t slices_max;
  std::uint64_t in_flight_max;  // of the farm
  std::uint64_t buffer_bytes;
  std::uint64_t credits;
  bool push;  // slices open as their fragments arrive, whether memory has room or not
};

// Return the bytes that a node uses beside its buffer: for each slice that it holds, a row for each of its
// sources. With short fragments from many sources that is more than the fragments.
[[nodiscard]] std::uint64_t readout_table_bytes(const ReadoutTables& own, std::size_t sources,
                                                const config::ExpectedSizes& sizes);
[[nodiscard]] std::uint64_t dcm_table_bytes(const DcmTables& own, std::size_t sources,
                                            const config::ExpectedSizes& sizes);

// Returns the time that a DCM may need for a slice of so many fragments.
[[nodiscard]] std::uint64_t slice_time_ms(std::size_t fragments);

}  // namespace weir::run
