#include <weir/orphans/orphans.hpp>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <sstream>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace weir::orphans {
namespace {

namespace fs = std::filesystem;

constexpr int kEndPatienceMs = 1000;
constexpr int kGenerationsMax = 100;  // an orphan's children become orphans once it has ended

std::string file_of(pid_t process, const char* name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// State, parent and group of a process, read from its line in /proc.
struct Status {
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
};
Status status_of(pid_t process) {
  const std::string line = text_of(file_of(process, "stat"));
  Status status;
  const std::size_t name_end = line.rfind(')');  // the name may contain any character
  if (name_end == line.npos) return status;
  std::istringstream rest(line.substr(name_end + 1));
  rest >> status.state >> status.parent >> status.group;
  return status;
}

std::vector<pid_t> numbers_in(const fs::path& folder) {
  std::vector<pid_t> numbers;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t number = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failed == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  return numbers;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  bool listed = false;
  for (const pid_t thread : numbers_in("/proc/self/task")) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/children");
    listed = listed || file.is_open();
    std::copy(std::istream_iterator<pid_t>(file), {}, std::back_inserter(found));
  }
  if (listed) return found;
  const pid_t self = ::getpid();
  for (const pid_t process : numbers_in("/proc")) {
    if (status_of(process).parent == self) found.push_back(process);
  }
  return found;
}

bool is_owned_by(pid_t process, const std::string& mark) {
  const std::string environment = text_of(file_of(process, "environ"));
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    if (std::string_view(environment).substr(at, end - at) == mark) return true;
    at = end + 1;
  }
  return false;
}

void end(pid_t process) {
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  ::kill(process, SIGKILL);
  pollfd ended{descriptor, POLLIN, 0};
  if (descriptor >= 0) (void)::poll(&ended, 1, kEndPatienceMs);
  (void)::waitpid(process, nullptr, WNOHANG);
  if (descriptor >= 0) ::close(descriptor);
}

}  // namespace

void adopt() { (void)::prctl(PR_SET_CHILD_SUBREAPER, 1); }

void end_descendants(pid_t child, const std::string& mark) {
  bool found = true;
  for (int generation = 0; found && generation < kGenerationsMax; ++generation) {
    found = false;
    for (const pid_t process : children()) {
      const Status status = status_of(process);
      // A zombie has no environment to recognise it by.
      if (status.state == 'Z' && status.group == child) (void)::waitpid(process, nullptr, WNOHANG);
      if (status.state == 'Z' || !(status.group == child || is_owned_by(process, mark))) continue;
      end(process);
      found = true;
    }
  }
}

}  // namespace weir::orphans
