#pragma once

#include <weir/storage/file_command.hpp>
#include <weir/storage/run_file_reader.hpp>

#include <iosfwd>
#include <vector>

namespace weir::storage {

// Carries out `weir file dump`. Returns the exit status.
[[nodiscard]] int dump_slice(const std::vector<RunFileReader>& files, const FileCommand& command,
                             std::ostream& out, std::ostream& err);

}  // namespace weir::storage
