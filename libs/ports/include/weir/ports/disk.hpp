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

enum class DiskError : std::uint8_t { none, no_space, not_writable, exists, not_found, io };

[[nodiscard]] constexpr std::string_view name(DiskError error) {
  constexpr std::string_view kNames[] = {"none", "no_space", "not_writable", "exists", "not_found", "io"};
  return kNames[static_cast<std::size_t>(error)];
}

// How an operation ended. `token` is the caller's, from that operation.
struct DiskEvent {
  FileId file;
  std::uint64_t token = 0;
  DiskError error = DiskError::none;
  std::string detail;  // on error: a sentence that names the path
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
  // A new file, mode 0644. Fails when it exists.
  virtual void create(FileId file, const std::string& path, std::uint64_t token) = 0;
  // The pieces, one after another. `owner` keeps them alive until the event.
  virtual void append(FileId file, std::vector<ConstBytes> pieces, std::shared_ptr<const void> owner,
                      std::uint64_t token) = 0;
  // What was appended before survives a crash once the event is there without error (fdatasync).
  virtual void sync(FileId file, std::uint64_t token) = 0;
  // Cuts the file to `size` and clears its error.
  virtual void truncate(FileId file, std::uint64_t size, std::uint64_t token) = 0;
  // Syncs, closes, renames to `final_path` (which must not exist) and syncs the directory.
  virtual void publish(FileId file, const std::string& final_path, std::uint64_t token) = 0;
};

}  // namespace weir::ports
