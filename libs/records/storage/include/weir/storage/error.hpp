#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::storage {

enum class StorageError : std::uint8_t {
  truncated,     // the bytes end before the announced length
  bad_magic,     // other bytes than expected at this place
  bad_version,   // an unknown version or layout
  bad_length,    // a length or offset that leads outside, or contradicts another one
  bad_checksum,  // a CRC32C does not match
  malformed,     // fields that contradict each other
  not_found,     // no such file, record or slice
  io,            // a system call failed
};

[[nodiscard]] constexpr std::string_view name(StorageError error) {
  constexpr std::string_view kNames[] = {"truncated",    "bad_magic", "bad_version", "bad_length",
                                         "bad_checksum", "malformed", "not_found",   "io"};
  return kNames[static_cast<std::size_t>(error)];
}

// An error with a sentence for people, which names the file and the fault.
struct StorageFailure {
  StorageError error = StorageError::io;
  std::string detail;
};

}  // namespace weir::storage
