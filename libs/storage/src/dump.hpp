#pragma once

#include <weir/storage/file_command.hpp>
#include <weir/storage/run_file_reader.hpp>

#include <iosfwd>
#include <vector>

namespace weir::storage {

// `weir file dump`: the exit status.
[[nodiscard]] int dump_slice(const std::vector<RunFileReader>& files, const FileCommand& command,
                             std::ostream& out, std::ostream& err);

}  // namespace weir::storage
