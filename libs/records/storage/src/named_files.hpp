#pragma once

#include <weir/storage/error.hpp>

#include <string>
#include <vector>

namespace weir::storage {

// Returns the run files that `paths` name: a folder stands for those in it, by name. A file that was
// recovered counts in place of its original beside it, and one that has two names counts once. Adds a
// sentence to `errors` for each folder that cannot be read, or has no run file.
[[nodiscard]] std::vector<std::string> named_files(const std::vector<std::string>& paths,
                                                   std::vector<std::string>& errors);

}  // namespace weir::storage
