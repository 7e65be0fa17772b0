#pragma once

#include <cstddef>
#include <string_view>

namespace weir::config {

// Length of the longest prefix of `text` that is well-formed UTF-8 (The Unicode Standard, table 3-7).
[[nodiscard]] std::size_t utf8_prefix(std::string_view text);

}  // namespace weir::config
