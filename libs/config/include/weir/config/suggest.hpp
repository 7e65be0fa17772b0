#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// The candidate nearest to `word` by edit distance, if one is near enough to be what was meant.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& candidates);

// "; did you mean 'x'?", or nothing.
[[nodiscard]] std::string did_you_mean(const std::optional<std::string>& candidate);

}  // namespace weir::config
