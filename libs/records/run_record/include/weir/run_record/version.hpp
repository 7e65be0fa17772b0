#pragma once

namespace weir::run_record {

// Version of this release, for example "0.5.0"; set by CMakeLists.txt.
extern const char* const kVersion;

}  // namespace weir::run_record
