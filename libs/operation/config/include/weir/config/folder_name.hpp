#pragma once

#include <string>
#include <string_view>

namespace weir::config {

// Returns why this is not allowed as an output folder's name, without the key, or an empty string if it is
// allowed. Farm files and records are UTF-8, and would name another folder; only a shell expands '~'.
[[nodiscard]] std::string folder_name_problem(std::string_view name);

}  // namespace weir::config
