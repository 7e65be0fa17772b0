#pragma once

#include <string>
#include <string_view>

namespace weir::config {

// Why no output folder may have this name, as a sentence without its key; empty: it may. Farm files and
// records are UTF-8, and would name another folder; only a shell expands '~'.
[[nodiscard]] std::string folder_name_problem(std::string_view name);

}  // namespace weir::config
