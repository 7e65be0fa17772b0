#pragma once

namespace weir::run_record {

// Of this release, "0.1.0"; CMakeLists.txt gives it.
extern const char* const kVersion;

}  // namespace weir::run_record
