#pragma once

#include <weir/ingest/recorded_run.hpp>

#include <filesystem>
#include <sys/stat.h>

namespace weir::ingest {

// Returns the properties of a file that was read with this checksum; size and time are 0 if the file is gone
// by now.
[[nodiscard]] inline RecordedFile recorded_file(const std::filesystem::path& path, std::uint32_t crc32c) {
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0) now = {};
  return {path.filename().string(), static_cast<std::uint64_t>(now.st_size),
          static_cast<UtcNs>(now.st_mtim.tv_sec) * kSecond + now.st_mtim.tv_nsec, crc32c};
}

}  // namespace weir::ingest
