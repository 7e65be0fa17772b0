#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// Returns the candidate nearest to `word` by edit distance, if it is near enough to be a likely correction.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& candidates);

// Returns "; did you mean 'x'?", or an empty string.
[[nodiscard]] std::string did_you_mean(const std::optional<std::string>& candidate);

}  // namespace weir::config
