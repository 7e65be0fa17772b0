#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace weir {

// Returns TMPDIR, or /tmp if it is not set.
[[nodiscard]] inline std::filesystem::path temporary_folder() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return error ? std::filesystem::path("/tmp") : folder;
}

// A new empty folder, removed with its contents when the object is destroyed. Throws std::system_error.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::filesystem::path& parent = temporary_folder()) {
    std::string pattern = (parent / "weir-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), pattern);
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace weir
