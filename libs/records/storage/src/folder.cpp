#include "open_file.hpp"
#include <weir/storage/folder.hpp>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace weir::storage {
namespace {

namespace fs = std::filesystem;

StorageFailure failure(const std::string& path, const char* doing, const std::string& why) {
  return {StorageError::io, path + ": cannot " + doing + ": " + why};
}

// These file systems keep names without a sync, and report that they cannot sync a folder.
bool is_failure(int error) { return error != 0 && error != EACCES && error != EINVAL && error != EROFS; }

}  // namespace

std::optional<StorageFailure> make_folder(const std::string& path, SystemCalls& calls) {
  std::error_code error;
  fs::path folder = fs::absolute(path, error).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  if (!error) fs::create_directories(folder, error);
  if (error) return failure(path, "make the folder", error.message());
  if (!fs::is_directory(folder, error)) return failure(path, "make the folder", "it is not a regular file");
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    const int refused = sync_directory_of(calls, folder.string());
    if (is_failure(refused)) {
      return failure(folder.parent_path().string(), "sync the folder",
                     std::generic_category().message(refused));
    }
  }
  return std::nullopt;
}

}  // namespace weir::storage
