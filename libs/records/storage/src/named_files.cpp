#include "named_files.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace weir::storage {
namespace {

constexpr std::string_view kSuffix = ".weir";

std::vector<std::string> files_in(const std::string& folder, std::vector<std::string>& errors) {
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::string path = entry->path().string();
    std::string_view closed = path;
    if (closed.ends_with(kPartSuffix)) closed.remove_suffix(kPartSuffix.size());
    if (!closed.ends_with(kSuffix)) continue;
    std::error_code ignored;
    const bool recovered = closed.size() < path.size() && std::filesystem::exists(closed, ignored);
    if (!recovered) files.push_back(std::move(path));
  }
  if (error) {
    errors.push_back(folder + ": cannot read the folder: " + error.message());
  } else if (files.empty()) {
    errors.push_back(folder + ": no run files (*.weir, *.weir.part) in this folder");
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> named_files(const std::vector<std::string>& paths,
                                     std::vector<std::string>& errors) {
  std::vector<std::string> files;
  std::set<std::pair<dev_t, ino_t>> seen;
  const auto add = [&](const std::string& path) {
    struct stat found = {};
    if (::stat(path.c_str(), &found) != 0 || seen.emplace(found.st_dev, found.st_ino).second)
      files.push_back(path);
  };
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      for (const std::string& file : files_in(path, errors)) add(file);
    } else {
      add(path);
    }
  }
  return files;
}

}  // namespace weir::storage
