#include <weir/node/log_file.hpp>

#include <algorithm>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace weir::node {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".log";
constexpr mode_t kMode = 0644;

std::string stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H%M%SZ", &parts);
  return text;
}

std::string stem_of(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(kEnding) ? name.substr(0, name.size() - kEnding.size()) : name;
}

// If two files are closed within one second, the later one gets a number.
fs::path free_name(const fs::path& path) {
  const std::string begin = stem_of(path) + "." + stamp();
  fs::path closed = path.parent_path() / (begin + std::string(kEnding));
  for (int i = 2; fs::exists(closed); ++i)
    closed = path.parent_path() / (begin + "-" + std::to_string(i) + std::string(kEnding));
  return closed;
}

void delete_oldest(const fs::path& path, std::uint32_t kept) {
  const std::string begin = stem_of(path) + ".2";  // years begin with 2
  std::vector<std::pair<fs::file_time_type, fs::path>> closed;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(kEnding))
      closed.emplace_back(entry.last_write_time(error), entry.path());
  }
  std::sort(closed.begin(), closed.end());
  for (std::size_t i = 0; i + kept < closed.size(); ++i) fs::remove(closed[i].second, error);
}

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

void close_log(const std::string& path, std::uint32_t kept) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error || size == 0 || !fs::is_regular_file(path, error)) return;
  fs::rename(path, free_name(path), error);
  if (!error) delete_oldest(path, kept);
}

void LogFile::look(TimeNs now) {
  if (now < next_ns_) return;
  next_ns_ = now + kEvery;
  struct stat there {};
  struct stat written {};
  struct stat output {};
  if (::fstat(STDERR_FILENO, &written) != 0 || !S_ISREG(written.st_mode)) return;
  if (static_cast<std::uint64_t>(written.st_size) < bytes_max_) return;
  if (::stat(path_.c_str(), &there) != 0 || !is_same(there, written)) return;
  const bool both = ::fstat(STDOUT_FILENO, &output) == 0 && is_same(output, written);
  close_log(path_, kept_);
  const int next = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
  if (next < 0) return;  // logging continues in the closed file
  ::dup2(next, STDERR_FILENO);
  if (both) ::dup2(next, STDOUT_FILENO);
  ::close(next);
}

}  // namespace weir::node
