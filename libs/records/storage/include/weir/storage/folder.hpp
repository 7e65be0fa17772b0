#pragma once

#include <weir/storage/error.hpp>
#include <weir/storage/system_calls.hpp>

#include <optional>
#include <string>

namespace weir::storage {

// Makes the folder for run files with its parents, and makes its name durable: otherwise a loss of power
// could remove the folder with all acknowledged data. Parents that this process may not open are left to
// their owners.
[[nodiscard]] std::optional<StorageFailure> make_folder(const std::string& path,
                                                        SystemCalls& calls = operating_system());

}  // namespace weir::storage
