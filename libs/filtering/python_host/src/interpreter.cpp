#include <weir/python_host/interpreter.hpp>

#include <spawn.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace weir::python_host {
namespace {

constexpr int kSignalled = 128;
constexpr char kCheckMark = '\x1e';  // begins the result in the output of filter_host.py
constexpr const char* kAdvice =
    "install NumPy (apt install python3-numpy, or pip install numpy), or name an interpreter that has it in ";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// Reads the output of a child until it has ended. A process that it started may keep the output open.
std::string output_until_end_of(pid_t child, int from) {
  constexpr int kLookMs = 20;
  ::fcntl(from, F_SETFL, O_NONBLOCK);
  std::string text;
  std::array<char, 4096> piece{};
  for (bool ended = false;;) {
    ssize_t got = 0;
    while ((got = ::read(from, piece.data(), piece.size())) > 0)
      text.append(piece.data(), static_cast<std::size_t>(got));
    if (ended || got == 0) return text;
    siginfo_t end{};
    ended = ::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            end.si_pid == child;
    if (ended) continue;
    pollfd output{from, POLLIN, 0};
    (void)::poll(&output, 1, kLookMs);
  }
}

// The environment goes through env(1): the caller's own stays as it is.
std::vector<std::string> with_environment(const Interpreter& python) {
  std::vector<std::string> words{"/usr/bin/env",
                                 "PYTHONPATH=" + python_path(environment("PYTHONPATH"), python.folder)};
  for (const char* threads : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
    if (environment(threads).empty()) words.push_back(std::string(threads) + "=1");
  }
  words.push_back(python.program);
  return words;
}

// Empty: it can. Else the reason.
std::string cannot_host(const Interpreter& python, const std::string& noun) {
  std::vector<std::string> words = with_environment(python);
  // Each readout looks for one: a source's host imports the packages itself, soon after.
  const std::string program = noun == "source"
                                  ? "import importlib.util, sys\n"
                                    "for name in ('numpy', 'weir_daq'):\n"
                                    "  if importlib.util.find_spec(name) is None:\n"
                                    "    sys.exit(f\"{sys.executable}: No module named '{name}'\")"
                                  : "import sys\n"
                                    "try:\n  import numpy, weir_daq.filters\n"
                                    "except ImportError as why: sys.exit(f'{sys.executable}: {why}')";
  words.insert(words.end(), {"-c", program_text(program)});
  const auto child = run_child(words);
  if (!child) return child.error();
  if (child->status == 0) return {};
  return child->text.empty() ? "exit status " + std::to_string(child->status) : last_line(child->text);
}

}  // namespace

std::string python_path(const std::string& given, const std::string& folder) {
  std::string path;
  for (std::size_t at = 0; at < given.size();) {
    const std::size_t end = std::min(given.find(':', at), given.size());
    if (end > at) path += given.substr(at, end - at) + ":";
    at = end + 1;
  }
  return path + folder;
}

std::string program_text(const std::string& program) {
  return "import sys; sys.path[:] = filter(None, sys.path)\n" + program;
}

Expected<ChildOutput, std::string> run_child(std::vector<std::string> command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Unexpected<std::string>(std::string("pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, argv.front(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  ChildOutput out;
  if (error == 0) out.text = output_until_end_of(child, ends[0]);
  ::close(ends[0]);
  if (error != 0) return Unexpected<std::string>(command.front() + ": " + std::strerror(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return Unexpected<std::string>(std::string("waitpid: ") + std::strerror(errno));
  }
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  return out;
}

std::string installation() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string(".") : program.parent_path().parent_path().string();
}

Expected<Interpreter, std::string> find_interpreter(const std::string& chosen, const std::string& prefix,
                                                    const std::string& noun) {
  const std::string folder = prefix + "/lib/weir/python";
  std::vector<std::string> programs{"python3", "/usr/bin/python3"};
  if (const std::string named = environment("WEIR_PYTHON"); !named.empty()) programs = {named};
  if (!chosen.empty()) programs = {chosen};
  std::string tried;
  for (const std::string& program : programs) {
    Interpreter python{program, folder, prefix + "/lib/weir"};
    const std::string why = cannot_host(python, noun);
    if (why.empty()) return python;
    tried += (tried.empty() ? "" : "; ") + program + ": " + why;
  }
  return Unexpected<std::string>("no interpreter for a " + noun + " in Python (" + tried + "): " + kAdvice +
                                 noun + ".python");
}

namespace {

std::vector<std::string> host_command(const Interpreter& python, const std::string& noun,
                                      const std::string& verb, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = with_environment(python);
  words.insert(words.end(),
               {"-c", program_text("from weir_daq." + noun + "_host import main; main(sys.argv[1:])"), verb,
                python.libraries + "/weir-" + noun + "-host.so"});
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

CheckResult checked(const Interpreter& python, const std::string& noun, const std::string& setup) {
  const auto child = run_child(host_command(python, noun, "check", {setup}));
  if (!child) return {1, child.error()};
  const std::size_t mark = child->text.rfind(kCheckMark);
  if (mark != std::string::npos) return {child->status, child->text.substr(mark + 1)};
  return {1, python.program + " ended with " +
                 (child->status > kSignalled ? "signal " + std::to_string(child->status - kSignalled)
                                             : "status " + std::to_string(child->status)) +
                 " while it loaded the " + noun + ": " + last_line(child->text)};
}

}  // namespace

std::vector<std::string> filter_host_command(const Interpreter& python, const std::string& verb,
                                             const std::vector<std::string>& arguments) {
  return host_command(python, "filter", verb, arguments);
}

std::vector<std::string> source_host_command(const Interpreter& python, const std::string& verb,
                                             const std::vector<std::string>& arguments) {
  return host_command(python, "source", verb, arguments);
}

CheckResult check_filter(const Interpreter& python, const std::string& setup) {
  return checked(python, "filter", setup);
}

CheckResult check_source(const Interpreter& python, const std::string& path) {
  return checked(python, "source", path);
}

}  // namespace weir::python_host
