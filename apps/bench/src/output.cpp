// Tables, data and pictures of a bench, in a folder.
#include "output.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>

namespace weir::bench {
namespace {

constexpr int kNotFound = 127;  // a shell's status when there is no such program

// A shell's exit status, or -1.
int draw(const std::string& folder, const Figure& figure) {
  std::string quoted = folder;
  for (std::size_t at = 0; (at = quoted.find('\'', at)) != quoted.npos; at += 4)
    quoted.replace(at, 1, "'\\''");
  const int status = std::system(fmt::format("cd '{}' && exec gnuplot {}.gp", quoted, figure.name).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

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

bool make_folder(const std::string& folder, std::FILE* err) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fmt::print(err, "weir bench: cannot make '{}': {}\n", folder, error.message());
  return !error;
}

int write_output(const std::string& folder, const std::string& name, const std::string& lines,
                 const std::string& table, const std::vector<Figure>& figures, std::FILE* err) {
  const std::string stem = folder + "/" + name;
  bool written = write(stem + ".jsonl", lines) && write(stem + ".md", table);
  for (const Figure& figure : figures) {
    written = written && write(folder + "/" + figure.name + ".dat", figure.data) &&
              write(folder + "/" + figure.name + ".gp", figure.script);
  }
  if (!written) {
    fmt::print(err, "weir bench: cannot write into '{}'\n", folder);
    return 1;
  }
  for (const Figure& figure : figures) {
    const int status = draw(folder, figure);
    if (status == kNotFound) {
      fmt::print(err,
                 "weir bench: no plots, as gnuplot is not installed (Debian's gnuplot-nox): each .gp in '{}' "
                 "makes one\n",
                 folder);
      return 0;
    }
    if (status != 0) {
      fmt::print(err, "weir bench: gnuplot could not draw {}/{}.gp\n", folder, figure.name);
      return 1;
    }
  }
  return 0;
}

}  // namespace weir::bench
