#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::ingest {

enum class IngestError : std::uint8_t {
  not_found,  // no such file or folder, or nothing in it that can be replayed
  io,         // the system refused
  malformed,  // not the format that it should be, or a field that contradicts another one
  too_large,  // beyond a limit
};

[[nodiscard]] constexpr std::string_view name(IngestError error) {
  constexpr std::string_view kNames[] = {"not_found", "io", "malformed", "too_large"};
  return kNames[static_cast<std::size_t>(error)];
}

// An error with a sentence for people that names the file, the field and what is wrong with it.
struct Failure {
  IngestError error = IngestError::io;
  std::string detail;
};

}  // namespace weir::ingest
