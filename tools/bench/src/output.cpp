// Output files of a benchmark.
#include "output.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sys/utsname.h>
#include <system_error>
#include <thread>

namespace weir::bench {

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return static_cast<bool>(file.flush());
}

std::string machine() {
  utsname system{};
  ::uname(&system);
  const std::string release(system.release);  // 6.1.0-13-amd64: the build is of no use to others
  return fmt::format("{} cores, {} {}", std::thread::hardware_concurrency(), system.sysname,
                     release.substr(0, release.find('-')));
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool make_folder(const std::string& folder, std::FILE* err) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fmt::print(err, "weir bench: cannot make '{}': {}\n", folder, error.message());
  return !error;
}

int write_output(const std::string& folder, const std::string& name, const std::string& lines,
                 const std::string& table, std::FILE* err) {
  const std::string stem = folder + "/" + name;
  if (write(stem + ".jsonl", lines) && write(stem + ".md", table)) return 0;
  fmt::print(err, "weir bench: cannot write into '{}'\n", folder);
  return 1;
}

}  // namespace weir::bench
