#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::ingest {

enum class IngestError : std::uint8_t {
  not_found,  // no such file or folder, or no data in it that can be replayed
  io,         // a system call failed
  malformed,  // not in the expected format, or with fields that contradict each other
  too_large,  // beyond a limit
};

[[nodiscard]] constexpr std::string_view name(IngestError error) {
  constexpr std::string_view kNames[] = {"not_found", "io", "malformed", "too_large"};
  return kNames[static_cast<std::size_t>(error)];
}

// An error with a sentence for people, which names the file, the field and the fault.
struct IngestFailure {
  IngestError error = IngestError::io;
  std::string detail;
};

}  // namespace weir::ingest
