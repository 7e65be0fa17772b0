#pragma once

#include <weir/base/scratch_folder.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

namespace weir::test {

// A scratch folder with helpers for tests.
class TemporaryFolder : public ScratchFolder {
 public:
  using ScratchFolder::ScratchFolder;

  // Returns a folder in which a sync costs no time.
  static std::filesystem::path in_memory() {
    return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
  }

  [[nodiscard]] std::string operator/(std::string_view name) const { return (path() / name).string(); }
  // Returns the path.
  std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(*this / name, std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
    return *this / name;
  }
};

}  // namespace weir::test
