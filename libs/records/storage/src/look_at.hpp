#pragma once

#include "open_file.hpp"
#include <weir/ports/disk.hpp>
#include <weir/storage/system_calls.hpp>

#include <span>
#include <string>

namespace weir::storage {

// Returns the file system's view of `path`, with the checksums of these ranges. A missing file is not an
// error.
[[nodiscard]] DiskOutcome look_at(SystemCalls& calls, const std::string& path,
                                  std::span<const ports::FileRange> ranges, ports::FileView& view);

}  // namespace weir::storage
