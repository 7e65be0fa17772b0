#pragma once

#include <weir/base/expected.hpp>

#include <string>
#include <vector>

namespace weir::python_host {

// An interpreter that can import NumPy and weir_daq, and where this installation has its parts.
struct Interpreter {
  std::string program;    // a path, or a name to be searched for on the path
  std::string folder;     // of weir_daq
  std::string libraries;  // folder of weir-filter-host.so and weir-source-host.so
};

// Returns the folder that has bin/ and lib/ of this installation or build.
[[nodiscard]] std::string installation();

// Returns the first usable interpreter: `chosen`, if not empty, and no other; else $WEIR_PYTHON, python3 on
// the path, /usr/bin/python3. Starts a child for each one that it tries, and waits for it. `noun`:
// "filter" or "source".
// Errors: a sentence with the missing part and the command that installs it.
[[nodiscard]] Expected<Interpreter, std::string> find_interpreter(const std::string& chosen,
                                                                  const std::string& prefix = installation(),
                                                                  const std::string& noun = "filter");

// Returns the text for `python -c` that runs a program without the working folder in sys.path: modules of its
// files there would hide those of Python. `-m` puts the folder there, and `-P` is missing before Python 3.11.
[[nodiscard]] std::string program_text(const std::string& program);
// Returns the value of PYTHONPATH with this folder after those that are given. An empty one means the working
// folder, and is left out.
[[nodiscard]] std::string python_path(const std::string& given, const std::string& folder);

// The words of a command line that runs main() of weir_daq.filter_host with VERB LIBRARY ARGUMENTS... An
// interpreter's own PYTHONPATH comes before this installation's weir_daq. BLAS gets one thread, unless the
// environment names another number.
[[nodiscard]] std::vector<std::string> filter_host_command(const Interpreter& python, const std::string& verb,
                                                           const std::vector<std::string>& arguments);

// The same for main() of weir_daq.source_host.
[[nodiscard]] std::vector<std::string> source_host_command(const Interpreter& python, const std::string& verb,
                                                           const std::vector<std::string>& arguments);

constexpr int kRefusesParameters = 2;
struct CheckResult {
  int status = 0;    // 0: the filter can be made; kRefusesParameters; else it cannot be loaded
  std::string text;  // its description, or a sentence
};
// Makes an instance of a filter in a child process. `setup`: a v1::WorkerMessage::Setup in JSON.
[[nodiscard]] CheckResult check_filter(const Interpreter& python, const std::string& setup);
// Imports a file with a source in a child process, and makes no source.
[[nodiscard]] CheckResult check_source(const Interpreter& python, const std::string& path);

struct ChildOutput {
  int status = 0;    // exit status; 128 and more: 128 + signal
  std::string text;  // of stdout and stderr
};
// Runs a command and waits for its end. An error is a sentence.
[[nodiscard]] Expected<ChildOutput, std::string> run_child(std::vector<std::string> command);

}  // namespace weir::python_host
