#include <weir/base/scratch_folder.hpp>
#include <weir/launch/farms_here.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "control-";
constexpr std::size_t kNotesMax = 1000;  // files examined at most

// Returns the user's own folder, or nothing: files in a folder that others can write to are not trusted.
std::optional<std::string> folder(bool make) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string path = runtime != nullptr && *runtime != '\0'
                               ? std::string(runtime) + "/weir"
                               : temporary_folder().string() + "/weir-" + std::to_string(::getuid());
  if (make) ::mkdir(path.c_str(), S_IRWXU);
  struct stat status {};
  const bool own = ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                   status.st_uid == ::getuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return own ? std::optional(path) : std::nullopt;
}

bool is_run_control(const std::string& pid) {
  std::ifstream name("/proc/" + pid + "/comm");
  std::string text;
  std::getline(name, text);
  return std::string("weir-run-control").starts_with(text) && !text.empty();
}

}  // namespace

std::vector<FarmHere> farms_here() {
  std::vector<FarmHere> found;
  const auto at = folder(false);
  if (!at) return found;
  std::error_code error;
  std::size_t looked = 0;
  for (const auto& one : fs::directory_iterator(*at, error)) {
    const std::string name = one.path().filename().string();
    if (!name.starts_with(kPrefix) || ++looked > kNotesMax) continue;
    if (!is_run_control(name.substr(std::string(kPrefix).size()))) {
      ::unlink(one.path().c_str());  // left by a killed process
      continue;
    }
    FarmHere here;
    std::ifstream file(one.path());
    if (std::getline(file, here.control) && std::getline(file, here.farm)) found.push_back(here);
  }
  return found;
}

FarmNote::FarmNote(const FarmHere& here) {
  const auto at = folder(true);
  if (!at) return;
  (void)farms_here();  // removes the notes of killed processes
  path_ = *at + "/" + kPrefix + std::to_string(::getpid());
  std::ofstream file(path_);
  file << here.control << "\n" << here.farm << "\n";
}

FarmNote::~FarmNote() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace weir::launch
