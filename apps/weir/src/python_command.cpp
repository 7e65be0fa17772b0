#include "python_command.hpp"

#include <weir/node/paths.hpp>
#include <weir/python_host/interpreter.hpp>

#include <spawn.h>

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace weir::commands {
namespace {

constexpr int kFailed = 1;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> interpreters() {
  const char* chosen = std::getenv("WEIR_PYTHON");
  if (chosen != nullptr && *chosen != '\0') return {chosen};
  return {"python3", "/usr/bin/python3"};
}

// Appended: a weir_daq that the user has on PYTHONPATH goes before this installation's.
void extend_python_path(const std::string& folder) {
  const char* given = std::getenv("PYTHONPATH");
  ::setenv("PYTHONPATH", python_host::python_path(given == nullptr ? "" : given, folder).c_str(), 1);
}

// The words that run `python -m weir_daq`, without the working folder in sys.path.
std::vector<std::string> weir_daq(const std::string& interpreter) {
  return {interpreter, "-c",
          python_host::program_text(
              "try:\n    from weir_daq.__main__ import start\n"
              "except ModuleNotFoundError as error:\n"
              "    sys.exit(f'{sys.executable} lacks {error.name}: {sys.executable} -m pip install "
              "{error.name}; '\n"
              "             'weir_daq is in the wheel of this release (docs/installing.md)')\n"
              "sys.exit(start())")};
}

// True if the interpreter has the packages. `quiet` keeps its sentence from stderr.
bool has_packages(const std::string& interpreter, const std::string& needs, bool quiet) {
  std::vector<std::string> words = weir_daq(interpreter);
  words.insert(words.end(), {"check", needs});
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (quiet) ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, interpreter.c_str(), &actions, nullptr, pointers(words).data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    if (!quiet) std::fprintf(stderr, "weir: no Python at '%s': install python3\n", interpreter.c_str());
    return false;
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int run_python(const std::string& verb, const std::string& needs, const std::vector<std::string>& arguments) {
  const std::filesystem::path prefix = std::filesystem::path(node::program_folder()).parent_path();
  ::setenv("WEIR_COMMAND", (prefix / "bin" / "weir").c_str(), 0);
  extend_python_path((prefix / "lib" / "weir" / "python").string());
  const std::vector<std::string> all = interpreters();
  std::fflush(nullptr);
  for (const std::string& interpreter : all) {
    if (!has_packages(interpreter, needs, &interpreter != &all.back())) continue;
    std::vector<std::string> words = weir_daq(interpreter);
    words.push_back(verb);
    words.insert(words.end(), arguments.begin(), arguments.end());
    ::execvp(interpreter.c_str(), pointers(words).data());
  }
  std::fprintf(stderr,
               "weir: `%s` runs in Python, with the package above; WEIR_PYTHON names another interpreter\n",
               verb.c_str());
  return kFailed;
}

}  // namespace weir::commands
