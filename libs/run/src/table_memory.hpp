#pragma once

#include <weir/config/expected_sizes.hpp>

#include <cstddef>
#include <cstdint>

namespace weir::run {

// Return the bytes that a node of this farm file uses beside its buffer: for each slice that it holds, a row
// for each of its sources. With short fragments from many sources that is more than the fragments.
[[nodiscard]] std::uint64_t readout_table_bytes(const v1::Farm& own, std::size_t sources,
                                                const config::ExpectedSizes& sizes);
[[nodiscard]] std::uint64_t dcm_table_bytes(const v1::Farm& own, std::size_t sources,
                                            const config::ExpectedSizes& sizes);

// Returns the time that a DCM may need for a slice of so many fragments.
[[nodiscard]] std::uint64_t slice_time_ms(std::size_t fragments);

}  // namespace weir::run
