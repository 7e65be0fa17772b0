#include "recovery_owner.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace weir::storage {
namespace {

constexpr std::string_view kRecoveringSuffix = ".recovering";
constexpr std::size_t kHostLength = 32;
constexpr std::size_t kBootLength = 16;
constexpr std::size_t kWords = 6;  // "", host, boot, space, process, start
constexpr std::size_t kStartColumn = 20;

namespace fs = std::filesystem;

std::string cleaned(std::string text, std::size_t length) {
  for (char& c : text) {
    if (c == '@' || c == '/' || c == '\n') c = '-';
  }
  return text.substr(0, length);
}

// Host, boot and name space of process ids: "@HOST@BOOT@SPACE@".
std::string place() {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat space {};
  const bool known = ::stat("/proc/self/ns/pid", &space) == 0;
  return "@" + cleaned(host.data(), kHostLength) + "@" + cleaned(boot, kBootLength) + "@" +
         (known ? std::to_string(space.st_ino) : "") + "@";
}

// Returns when the process began, in ticks since the boot; "-": it has ended; empty: this cannot be read.
std::string start_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return {};
  std::size_t at = line.rfind(')') + 2;
  if (at < line.size() && (line[at] == 'Z' || line[at] == 'X')) return "-";
  for (std::size_t column = 1; column < kStartColumn; ++column) at = line.find(' ', at) + 1;
  return line.substr(at, line.find(' ', at) - at);
}

std::vector<std::string_view> words_of(std::string_view owner) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t end = owner.find('@');
    words.push_back(owner.substr(0, end));
    if (end == owner.npos) return words;
    owner.remove_prefix(end + 1);
  }
}

bool has_ended(std::string_view owner, const std::string& here) {
  const auto words = words_of(owner);
  if (!owner.starts_with(here) || words.size() != kWords || words[2].empty()) return false;
  pid_t process = 0;
  const auto [end, error] = std::from_chars(words[4].data(), words[4].data() + words[4].size(), process);
  if (error != std::errc() || end != words[4].data() + words[4].size() || process <= 0) return false;
  if (::kill(process, 0) != 0 && errno == ESRCH) return true;
  const std::string start = start_of(process);
  return !start.empty() && start != words[5];
}

}  // namespace

std::string own_recovery(const std::string& out) {
  return out + std::string(kRecoveringSuffix) + place() + std::to_string(::getpid()) + "@" +
         start_of(::getpid());
}

std::string clear_recoveries(SystemCalls& calls, const std::string& out) {
  const fs::path target(out);
  const std::string prefix = target.filename().string() + std::string(kRecoveringSuffix);
  const std::string here = place();
  std::error_code none;
  fs::directory_iterator files(target.has_parent_path() ? target.parent_path() : fs::path("."), none);
  for (; !none && files != fs::directory_iterator(); files.increment(none)) {
    const std::string name = files->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const std::string owner = name.substr(prefix.size());
    if (has_ended(owner, here) && calls.unlink(files->path()) == 0) continue;
    const auto words = words_of(owner);
    const std::string who = words.size() == kWords ? "process " + std::string(words[4]) + " on " +
                                                         std::string(words[1]) + " is recovering it"
                                                   : "another recovery is running";
    return files->path().string() + " exists: " + who + ", or was interrupted; in that case remove it";
  }
  return {};
}

}  // namespace weir::storage
