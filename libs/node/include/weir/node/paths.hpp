#pragma once

#include <string>

namespace weir::node {

// Folder of the running program.
[[nodiscard]] std::string program_folder();
// Where the filter plugins of this installation or build are.
[[nodiscard]] std::string plugin_folder();

}  // namespace weir::node
