#pragma once

#include <weir/base/time.hpp>

#include <optional>
#include <string_view>

namespace weir::run_database {

// Reads a moment in UTC: "2026-03-01", "2026-03-01 10:00", "2026-03-01T10:00:00.5Z", or the time before
// `now`, as "90m", "12h", "7d". Returns nothing if it is none.
[[nodiscard]] std::optional<UtcNs> read_moment(std::string_view text, UtcNs now);

}  // namespace weir::run_database
