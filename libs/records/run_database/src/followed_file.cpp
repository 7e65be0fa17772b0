#include "followed_file.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>

#include <algorithm>
#include <fstream>
#include <span>
#include <sys/stat.h>

namespace weir::run_database {

std::int64_t tail_of(const std::string& path, std::int64_t end) {
  WEIR_ASSERT(end >= 0);
  if (end == 0) return 0;
  constexpr std::int64_t kTail = 256;
  const std::int64_t begin = std::max<std::int64_t>(0, end - kTail);
  std::string bytes(static_cast<std::size_t>(end - begin), '\0');
  std::ifstream file(path, std::ios::binary);
  file.seekg(begin);
  if (!file.read(bytes.data(), end - begin)) return -1;
  return crc32c(std::as_bytes(std::span(bytes)));
}

Followed followed_now(const std::string& path, const Followed& taken) {
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0) return {};
  return {static_cast<std::int64_t>(now.st_ino), static_cast<std::int64_t>(now.st_size), taken.tail};
}

bool is_replaced(const std::string& path, const Followed& taken, const Followed& now) {
  if (taken.bytes == 0) return false;
  return now.inode != taken.inode || now.bytes < taken.bytes || tail_of(path, taken.bytes) != taken.tail;
}

std::int64_t each_line(const std::string& path, std::int64_t from,
                       const std::function<void(const std::string&)>& take) {
  std::ifstream file(path, std::ios::binary);
  WEIR_ASSERT(from >= 0);
  file.seekg(from);
  for (std::string line; std::getline(file, line) && !file.eof();) {
    from += static_cast<std::int64_t>(line.size()) + 1;
    if (!line.empty()) take(line);
  }
  return from;
}

}  // namespace weir::run_database
