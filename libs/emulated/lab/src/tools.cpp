#include "tools.hpp"

#include <weir/base/owned_descriptor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

namespace weir::lab {
namespace {

constexpr int kCannotExecute = 127;
constexpr std::size_t kWordsMax = 4096;  // of a tool's error output
constexpr std::array<const char*, 3> kNames = {"ip", "bridge", "tc"};
constexpr std::string_view kFolders = "/usr/sbin:/sbin:/usr/bin:/bin";  // after those of PATH

const char* name_of(Tool tool) { return kNames[static_cast<std::size_t>(tool)]; }

std::string path_of(Tool tool) {
  const char* given = std::getenv("PATH");
  std::string folders = given == nullptr ? std::string(kFolders) : fmt::format("{}:{}", given, kFolders);
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string folder = folders.substr(begin, end - begin);
    begin = end + 1;
    if (!folder.starts_with('/')) continue;  // not from the working folder
    const std::string path = folder + "/" + name_of(tool);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

// Runs in the new process. Uses only calls that are safe after fork().
[[noreturn]] void become(const char* path, const char* name, int lines, int words, int space) {
  if (::setns(space, CLONE_NEWNET) != 0) ::_exit(kCannotExecute);
  ::dup2(lines, STDIN_FILENO);
  ::dup2(words, STDOUT_FILENO);
  ::dup2(words, STDERR_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  const char* argv[] = {name, "-batch", "-", nullptr};
  ::execv(path, const_cast<char* const*>(argv));
  ::_exit(kCannotExecute);
}

std::string words_of(int file) {
  std::string text(kWordsMax, '\0');
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Returns the line that the tool names in "Command failed -:12".
std::string failed_line(const std::string& words, const std::string& lines) {
  constexpr std::string_view kMark = "Command failed -:";
  const std::size_t at = words.find(kMark);
  if (at == words.npos) return {};
  std::size_t number = 0;
  std::from_chars(words.data() + at + kMark.size(), words.data() + words.size(), number);
  std::size_t begin = 0;
  for (std::size_t i = 1; i < number && begin != lines.npos; ++i) begin = lines.find('\n', begin + 1);
  if (number == 0 || begin == lines.npos) return {};
  begin += number > 1 ? 1 : 0;
  return lines.substr(begin, lines.find('\n', begin) - begin);
}

}  // namespace

std::optional<std::string> missing_tools() {
  for (const Tool tool : {Tool::ip, Tool::bridge, Tool::tc}) {
    if (path_of(tool).empty()) {
      return fmt::format("a lab needs the program '{}': install the package iproute2", name_of(tool));
    }
  }
  return std::nullopt;
}

Expected<void, std::string> run_tool(Tool tool, const std::string& lines, int space) {
  const std::string path = path_of(tool);
  const OwnedDescriptor input(::memfd_create("weir-lab-lines", MFD_CLOEXEC));
  const OwnedDescriptor words(::memfd_create("weir-lab-words", MFD_CLOEXEC));
  const bool ready = input.is_open() && words.is_open() &&
                     ::write(input.get(), lines.data(), lines.size()) == static_cast<ssize_t>(lines.size()) &&
                     ::lseek(input.get(), 0, SEEK_SET) == 0;
  const pid_t pid = ready ? ::fork() : -1;
  if (pid == 0) become(path.c_str(), name_of(tool), input.get(), words.get(), space);
  if (pid < 0) return Unexpected<std::string>(fmt::format("cannot run '{}': {}", path, std::strerror(errno)));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const std::string said = words_of(words.get());
  return Unexpected<std::string>(fmt::format("{}: {}\n  at: {} {}", name_of(tool),
                                             said.empty() ? "failed" : said, name_of(tool),
                                             failed_line(said, lines)));
}

}  // namespace weir::lab
