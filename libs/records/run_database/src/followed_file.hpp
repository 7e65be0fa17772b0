#pragma once

#include <cstdint>
#include <functional>
#include <string>

// Files that only grow, and are taken in line by line.
namespace weir::run_database {

// The part of a file that only grows that was taken in.
struct Followed {
  std::int64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t tail = 0;  // checksum of the last bytes
  bool operator==(const Followed&) const = default;
};

// Returns the checksum of the last bytes before `end`.
[[nodiscard]] std::int64_t tail_of(const std::string& path, std::int64_t end);
// Returns the file as it is; `taken`: how much of it was taken in. Without a new byte its tail is the same.
[[nodiscard]] Followed followed_now(const std::string& path, const Followed& taken);
// True if `taken` is not the beginning of the file any more.
[[nodiscard]] bool is_replaced(const std::string& path, const Followed& taken, const Followed& now);
// Calls `take` for each whole line after the first `from` bytes. Returns the bytes taken in all.
[[nodiscard]] std::int64_t each_line(const std::string& path, std::int64_t from,
                                     const std::function<void(const std::string&)>& take);

}  // namespace weir::run_database
