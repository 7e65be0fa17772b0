#pragma once

#include <iosfwd>
#include <string>

namespace weir::commands {

// Writes a source project into `folder`: a source, a farm file and a README; for Python a unit test, for C++
// a CMakeLists.txt. Refuses a folder that exists and is not empty. Returns the exit status.
[[nodiscard]] int create_source_project(const std::string& name, const std::string& folder, bool in_python,
                                        std::ostream& out, std::ostream& err);

}  // namespace weir::commands
