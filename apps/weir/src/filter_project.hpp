#pragma once

#include <iosfwd>
#include <string>

namespace weir::commands {

// Writes a filter project into `folder`: a filter with a unit test, a farm file, a CI job and a README; for
// C++ also a CMakeLists.txt. Refuses a folder that exists and is not empty. Returns the exit status.
[[nodiscard]] int create_filter_project(const std::string& name, const std::string& folder, bool in_python,
                                        std::ostream& out, std::ostream& err);

}  // namespace weir::commands
