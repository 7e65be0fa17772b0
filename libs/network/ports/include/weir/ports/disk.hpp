#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/ids.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::ports {

using FileId = StrongId<struct FileIdTag, std::uint32_t>;  // chosen by the caller, unique per Disk

// `changed`: the file was cut, removed or replaced from outside.
enum class DiskError : std::uint8_t { none, no_space, not_writable, exists, not_found, io, changed };

[[nodiscard]] constexpr std::string_view name(DiskError error) {
  constexpr std::string_view kNames[] = {"none",      "no_space", "not_writable", "exists",
                                         "not_found", "io",       "changed"};
  return kNames[static_cast<std::size_t>(error)];
}

struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// The file system's view of a path.
struct FileView {
  bool there = false;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  bool holes = false;  // a part was never written
  std::vector<std::uint32_t>
      checksums;  // CRC32C of the ranges; of the existing part of a range that ends outside
};

// Result of an operation. `token` is the caller's, from that operation.
struct DiskEvent {
  FileId file;
  std::uint64_t token = 0;
  DiskError error = DiskError::none;
  std::string detail;                 // on error: a sentence with the path
  FileView view;                      // for look() and restore()
  ConstBytes bytes;                   // for read()
  std::shared_ptr<const void> owner;  // keeps the bytes alive
};

class DiskHandler {
 public:
  virtual ~DiskHandler() = default;
  // Called on the loop's thread.
  virtual void on_disk_event(const DiskEvent& event) = 0;
};

// Append-only files. Operations never block; those on one file are carried out in order, and each gives one
// event, append included. After an error, further operations on the file fail until it is truncated to a
// known-good length.
class Disk {
 public:
  virtual ~Disk() = default;
  // Creates a file with the mode that the umask leaves. Errors: it exists already.
  virtual void create(FileId file, const std::string& path, std::uint64_t token) = 0;
  // Appends the pieces in order. `owner` keeps them alive until the event.
  virtual void append(FileId file, std::vector<ConstBytes> pieces, std::shared_ptr<const void> owner,
                      std::uint64_t token) = 0;
  // Makes earlier appends durable: after an event without error they survive a crash (fdatasync), and the
  // path still names this file with the length written here. Errors: `changed` if it does not.
  virtual void sync(FileId file, std::uint64_t token) = 0;
  // Cuts the file to `size` and clears its error.
  virtual void truncate(FileId file, std::uint64_t size, std::uint64_t token) = 0;
  // Syncs as above, closes, renames to `final_path` (which must not exist, unless it is the file's own path)
  // and syncs the directory.
  virtual void publish(FileId file, const std::string& final_path, std::uint64_t token) = 0;
  // To be called after `changed`: makes the path name the file again, with the bytes that are left; the view
  // has their length. A file found in its place is moved aside. Requires: a truncate() follows.
  virtual void restore(FileId file, std::uint64_t token) = 0;
  // Reads the ranges of the file at `path`, written by any process. A missing file is not an error. `file` is
  // only used for the event, here and in read().
  virtual void look(FileId file, const std::string& path, std::vector<FileRange> ranges,
                    std::uint64_t token) = 0;
  // Reads the whole file at `path`.
  virtual void read(FileId file, const std::string& path, std::uint64_t token) = 0;
};

}  // namespace weir::ports
