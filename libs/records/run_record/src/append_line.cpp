#include <weir/base/assert.hpp>
#include <weir/run_record/append_line.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::run_record {
namespace {

bool ends_in_line(int file) {
  struct stat now {};
  char last = '\n';
  if (::fstat(file, &now) != 0 || now.st_size == 0) return true;
  return ::pread(file, &last, 1, now.st_size - 1) != 1 || last == '\n';
}

}  // namespace

std::string append_line(const std::string& path, std::string line) {
  WEIR_ASSERT(!path.empty() && line.find('\n') == std::string::npos);
  const auto failed = [&](int why) { return "cannot write '" + path + "': " + std::strerror(why); };
  const int file = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return failed(errno);
  if (!ends_in_line(file)) line.insert(line.begin(), '\n');
  line += '\n';
  const ssize_t written = ::write(file, line.data(), line.size());
  const int why = written < 0 ? errno : ENOSPC;
  // A part of a line would stay in the file when the run is tried again.
  if (written > 0 && written < static_cast<ssize_t>(line.size())) {
    struct stat now {};
    if (::fstat(file, &now) == 0) (void)!::ftruncate(file, now.st_size - written);
  }
  ::close(file);
  return written == static_cast<ssize_t>(line.size()) ? std::string() : failed(why);
}

}  // namespace weir::run_record
