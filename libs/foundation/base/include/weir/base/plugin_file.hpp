#pragma once

#include <string_view>

namespace weir {

// True if the farm file names a filter written in Python: "my_filter.py".
[[nodiscard]] inline bool is_python_plugin(std::string_view name_or_path) {
  return name_or_path.ends_with(".py");
}

}  // namespace weir
