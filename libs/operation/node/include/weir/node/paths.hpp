#pragma once

#include <weir/base/expected.hpp>

#include <string>

namespace weir::node {

// Folder of the running program.
[[nodiscard]] std::string program_folder();
// Returns the absolute path of an output folder, with the links of its existing part resolved, so that moving
// a link later does not move the run. The error is a sentence.
[[nodiscard]] Expected<std::string, std::string> resolved_folder(const std::string& folder);
// Like resolved_folder(), but makes the folder first, with its parents.
[[nodiscard]] Expected<std::string, std::string> made_folder(const std::string& folder);
// Returns the folder of this installation's or build's filter plugins.
[[nodiscard]] std::string plugin_folder();

}  // namespace weir::node
