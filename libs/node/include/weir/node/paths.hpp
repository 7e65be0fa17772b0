#pragma once

#include <weir/base/expected.hpp>

#include <string>

namespace weir::node {

// Folder of the running program.
[[nodiscard]] std::string program_folder();
// Returns the absolute path of an output folder, with the links of its existing part resolved: moving a link
// later does not move the run. The error is a sentence.
[[nodiscard]] Expected<std::string, std::string> resolved_folder(const std::string& folder);
// Makes the folder first, with its parents.
[[nodiscard]] Expected<std::string, std::string> made_folder(const std::string& folder);
// Where the filter plugins of this installation or build are.
[[nodiscard]] std::string plugin_folder();

}  // namespace weir::node
