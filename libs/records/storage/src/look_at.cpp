#include "look_at.hpp"

#include <weir/base/crc32c.hpp>
#include <weir/base/time.hpp>

#include <algorithm>
#include <cerrno>

namespace weir::storage {
namespace {

constexpr std::size_t kReadAtOnce = 1U << 20;

// Returns 0 or the error.
int checksum(SystemCalls& calls, int file, const ports::FileRange& range, std::vector<std::byte>& buffer,
             std::uint32_t& out) {
  for (std::uint64_t done = 0; done < range.length;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kReadAtOnce, range.length - done));
    if (buffer.size() < wanted) buffer.resize(wanted);
    const ssize_t got = calls.pread(file, buffer.data(), wanted, static_cast<off_t>(range.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    out = crc32c_extend(out, ConstBytes(buffer).first(static_cast<std::size_t>(got)));
    done += static_cast<std::uint64_t>(got);
  }
  return 0;
}

int look(SystemCalls& calls, int file, std::span<const ports::FileRange> ranges, ports::FileView& view) {
  struct stat status = {};
  if (calls.stat_open(file, status) != 0) return errno;
  view.there = true;
  view.inode = status.st_ino;
  view.size = static_cast<std::uint64_t>(status.st_size);
  view.modified_ns = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec;
  if (ranges.empty()) return 0;
  const off_t hole = calls.first_hole(file);
  if (hole < 0 && errno != EINVAL && errno != ENXIO) return errno;
  view.holes = hole >= 0 && hole < status.st_size;
  std::vector<std::byte> buffer;
  for (const ports::FileRange& range : ranges) {
    const int error = checksum(calls, file, range, buffer, view.checksums.emplace_back(0));
    if (error != 0) return error;
  }
  return 0;
}

}  // namespace

DiskOutcome look_at(SystemCalls& calls, const std::string& path, std::span<const ports::FileRange> ranges,
                    ports::FileView& view) {
  const int file = calls.open_existing(path);
  if (file < 0) return errno == ENOENT ? DiskOutcome() : failure(errno, "open", path);
  const int error = look(calls, file, ranges, view);
  calls.close(file);
  return error == 0 ? DiskOutcome() : failure(error, "read back", path);
}

}  // namespace weir::storage
