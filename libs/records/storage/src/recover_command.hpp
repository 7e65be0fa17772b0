#pragma once

#include <weir/storage/file_command.hpp>

#include <iosfwd>
#include <string>

namespace weir::storage {

// Carries out `weir file recover` for one file. Returns the exit status.
[[nodiscard]] int recover_file(const std::string& path, const FileCommand& command, std::ostream& out,
                               std::ostream& err);

}  // namespace weir::storage
