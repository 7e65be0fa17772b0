#include "process.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace weir::system_test {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPoll{5};
constexpr Seconds kCommandPatience{60};
constexpr Seconds kKillPatience{10};

[[noreturn]] void become(const std::vector<char*>& argv, const std::string& out, const std::string& err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  constexpr mode_t kMode = 0644;
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, kMode), STDOUT_FILENO);
  ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, kMode), STDERR_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

// Reads the fourth field of a process' state. The second, the program's name in brackets, may have any byte.
pid_t parent_of(const fs::path& stat) {
  const std::string line = read_file(stat);
  std::istringstream fields(line.substr(std::min(line.rfind(')') + 1, line.size())));
  char state = '-';
  pid_t parent = 0;
  fields >> state >> parent;
  return parent;
}

}  // namespace

bool wait_until(const std::function<bool()>& condition, Seconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

TemporaryFolder::~TemporaryFolder() {
  const auto kill_all = [this] {
    const auto left = processes_naming(path().string());
    for (const RunningProcess& process : left) ::kill(process.pid, SIGKILL);
    return left.empty();
  };
  (void)wait_until(kill_all, kKillPatience);
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();  // empty and without an error if the process has ended meanwhile
  return text.str();
}

std::vector<RunningProcess> processes_naming(const std::string& text) {
  std::vector<RunningProcess> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/proc", none)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || pid == ::getpid()) continue;
    const std::string line = read_file(entry.path() / "cmdline");
    if (line.find(text) == line.npos) continue;
    RunningProcess process{pid, parent_of(entry.path() / "stat"), {}};
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find('\0', at), line.size());
      process.arguments.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    found.push_back(std::move(process));
  }
  return found;
}

Process::Process(const std::vector<std::string>& arguments, std::string out_file, std::string err_file)
    : out_file_(std::move(out_file)), err_file_(std::move(err_file)) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) become(argv, out_file_, err_file_);
  if (pid_ < 0) throw std::runtime_error("cannot start " + arguments.front());
}

Process::~Process() {
  if (status_) return;
  ::kill(pid_, SIGKILL);
  (void)wait(kKillPatience);
}

std::optional<int> Process::wait(Seconds patience) {
  const auto ended = [this] {
    int status = 0;
    if (status_ || ::waitpid(pid_, &status, WNOHANG) != pid_) return status_.has_value();
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return true;
  };
  (void)wait_until(ended, patience);
  return status_;
}

void Process::send_signal(int signal) const {
  if (!status_) ::kill(pid_, signal);
}

CommandEnd run_command(const TemporaryFolder& folder, const std::string& program,
                       const std::vector<std::string>& arguments) {
  std::vector<std::string> line{std::string(WEIR_BIN_DIR) + "/" + program};
  line.insert(line.end(), arguments.begin(), arguments.end());
  Process process(line, folder / "command.out", folder / "command.err");
  const auto status = process.wait(kCommandPatience);
  if (!status) throw std::runtime_error(program + " does not end");
  return {*status, process.out(), process.err()};
}

void require_faults(const CommandEnd& stop, const std::string& fault, const std::string& logs) {
  if (stop.status == kStoppedWithFaults && stop.err.find(fault) != std::string::npos) return;
  throw std::runtime_error("weir ctl stop, status " + std::to_string(stop.status) + ", without '" + fault +
                           "': " + stop.err + "\n" + logs);
}

}  // namespace weir::system_test
