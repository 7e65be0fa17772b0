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

// `changed`: the file is not as this process left it: it was cut, removed or replaced from outside.
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

// What the file system says of a path.
struct FileView {
  bool there = false;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  bool holes = false;                    // a part was never written
  std::vector<std::uint32_t> checksums;  // CRC32C of the ranges; of what is there of one that ends outside
};

// How an operation ended. `token` is the caller's, from that operation.
struct DiskEvent {
  FileId file;
  std::uint64_t token = 0;
  DiskError error = DiskError::none;
  std::string detail;                 // on error: a sentence that names the path
  FileView view;                      // of look() and restore()
  ConstBytes bytes;                   // of read()
  std::shared_ptr<const void> owner;  // keeps them
};

class DiskHandler {
 public:
  virtual ~DiskHandler() = default;
  // From the loop's thread.
  virtual void on_disk_event(const DiskEvent& event) = 0;
};

// Files that grow at their end. Operations never block; those on one file are carried out in the order they
// were asked for, and each gives one event, append included. After an error on a file its later operations
// fail alike, until it is truncated to a length that is known to be good.
class Disk {
 public:
  virtual ~Disk() = default;
  // Creates a file with the mode that the umask leaves. Fails when it exists.
  virtual void create(FileId file, const std::string& path, std::uint64_t token) = 0;
  // The pieces, one after another. `owner` keeps them alive until the event.
  virtual void append(FileId file, std::vector<ConstBytes> pieces, std::shared_ptr<const void> owner,
                      std::uint64_t token) = 0;
  // What was appended before survives a crash once the event is there without error (fdatasync), and the path
  // names this file, with the length that it was given here; otherwise `changed`.
  virtual void sync(FileId file, std::uint64_t token) = 0;
  // Cuts the file to `size` and clears its error.
  virtual void truncate(FileId file, std::uint64_t size, std::uint64_t token) = 0;
  // Syncs as above, closes, renames to `final_path` (which must not exist, or be its path) and syncs the
  // directory.
  virtual void publish(FileId file, const std::string& final_path, std::uint64_t token) = 0;
  // After `changed`: the path names the file again, with all that is left of it, as long as the view says.
  // What took its place is moved aside. It is to be truncated next.
  virtual void restore(FileId file, std::uint64_t token) = 0;
  // Reads the ranges of the file at `path`, whatever process wrote it. A file that is not there is no error.
  // `file` is for the event alone, here and in read().
  virtual void look(FileId file, const std::string& path, std::vector<FileRange> ranges,
                    std::uint64_t token) = 0;
  // The whole file at `path`.
  virtual void read(FileId file, const std::string& path, std::uint64_t token) = 0;
};

}  // namespace weir::ports
