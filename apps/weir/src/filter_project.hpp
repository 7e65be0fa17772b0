#pragma once

#include <iosfwd>
#include <string>

namespace weir::commands {

// Writes a filter project into `folder`: a filter with its algorithm apart, a unit test, CMakeLists.txt, a
// farm file, a CI job and a README. Refuses a folder that exists and is not empty. Returns the exit status.
[[nodiscard]] int create_filter_project(const std::string& name, const std::string& folder, std::ostream& out,
                                        std::ostream& err);

}  // namespace weir::commands
