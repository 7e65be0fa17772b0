#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::config {

// The pattern with `number` where it has {i}, or {i:03} for three digits at least; as it is without one.
[[nodiscard]] std::string numbered(std::string_view pattern, std::uint32_t number);
[[nodiscard]] bool takes_number(std::string_view pattern);

}  // namespace weir::config
