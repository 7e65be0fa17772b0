#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::config {

// Replaces {i} in the pattern with `number`, or {i:03} with at least three digits. Returns a pattern without
// them unchanged.
[[nodiscard]] std::string numbered(std::string_view pattern, std::uint32_t number);
[[nodiscard]] bool takes_number(std::string_view pattern);

}  // namespace weir::config
