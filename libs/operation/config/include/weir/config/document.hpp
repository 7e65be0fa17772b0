#pragma once

#include <string>

namespace weir::config {

// Returns the reference of all keys, with type, default, range and meaning, in Markdown:
// docs/configuration.md.
[[nodiscard]] std::string document();

}  // namespace weir::config
