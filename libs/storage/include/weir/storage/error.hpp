#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::storage {

enum class StorageError : std::uint8_t {
  truncated,     // the bytes end before what they announce
  bad_magic,     // not what was expected at this place
  bad_version,   // a version or layout that this program does not know
  bad_length,    // a length or offset that leads outside, or contradicts another one
  bad_checksum,  // a CRC32C does not match
  malformed,     // fields that contradict each other
  not_found,     // there is no such file, record or slice
  io,            // the system refused
};

[[nodiscard]] constexpr std::string_view name(StorageError error) {
  constexpr std::string_view kNames[] = {"truncated",    "bad_magic", "bad_version", "bad_length",
                                         "bad_checksum", "malformed", "not_found",   "io"};
  return kNames[static_cast<std::size_t>(error)];
}

// An error with a sentence for people that names the file and what is wrong with it.
struct Failure {
  StorageError error = StorageError::io;
  std::string detail;
};

}  // namespace weir::storage
