#pragma once

#include <weir/storage/error.hpp>
#include <weir/storage/system_calls.hpp>

#include <optional>
#include <string>

namespace weir::storage {

// Makes the folder for run files, and what is missing above it, and puts its name on disk: without that a
// loss of power could take the folder with all that was acknowledged in it. Folders above it that this
// process may not open are left to their owners.
[[nodiscard]] std::optional<Failure> make_folder(const std::string& path,
                                                 SystemCalls& calls = operating_system());

}  // namespace weir::storage
