#pragma once

#include "farm_run.hpp"

#include <cstdint>
#include <string>

// A farm with two groups of DCMs, `near` and `far`, for the tests of forwarded slices.
namespace weir::system_test {

// Where the DCMs of the second group get a slice.
enum class Built : std::uint8_t { from_readouts, fetched };

// Writes its farm file and returns the path. Of four slices the first group accepts one, rejects one and
// forwards two, of which the second accepts one.
[[nodiscard]] std::string half_forwarded(const TemporaryFolder& folder, Built built);

// Checks that of `slices` half are stored, once and with all bytes, and half are rejected.
void check_half_forwarded(const TemporaryFolder& folder, const FarmEnd& end, std::uint64_t slices);

}  // namespace weir::system_test
