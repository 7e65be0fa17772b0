#pragma once

#include <weir/base/bytes.hpp>
#include <weir/ports/disk.hpp>
#include <weir/storage/system_calls.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace weir::storage {

struct DiskOutcome {
  ports::DiskError error = ports::DiskError::none;
  std::string detail;  // on error: a sentence with the path
};

// Describes a failed system call on a path.
[[nodiscard]] DiskOutcome failure(int error, const char* doing, const std::string& path);

// Returns whether both paths are names of one file.
[[nodiscard]] bool is_same_file(SystemCalls& calls, const std::string& one, const std::string& other);

// Renames a file without replacing another. Returns 0 or the error (EEXIST: `to` exists). On a file system
// without an exclusive rename, a crash can leave both names of the file (is_same_file()), or, without hard
// links as well, an empty file `to` beside `from`.
[[nodiscard]] int rename_to_new(SystemCalls& calls, const std::string& from, const std::string& to);

// Returns 0 or the error. A file's name is on disk once its directory is synced.
[[nodiscard]] int sync_directory_of(SystemCalls& calls, const std::string& path);

// One append-only file, written with blocking system calls. After an error all operations fail until
// truncate().
class OpenFile {
 public:
  // Leaves no file behind on failure.
  static DiskOutcome create(SystemCalls& calls, const std::string& path, std::unique_ptr<OpenFile>& out);
  ~OpenFile() { calls_.close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  DiskOutcome append(std::vector<ConstBytes>& pieces);
  DiskOutcome sync();
  DiskOutcome truncate(std::uint64_t size);
  // Syncs, renames (never over an existing file) and syncs the directory. After an error it may be called
  // again, and continues where it stopped.
  DiskOutcome publish(const std::string& final_path);
  // Like ports::Disk::restore(). `size` receives the remaining length of the file.
  DiskOutcome restore(std::uint64_t& size);

 private:
  OpenFile(SystemCalls& calls, int descriptor, std::string path)
      : calls_(calls), descriptor_(descriptor), path_(std::move(path)) {}

  static std::size_t skip(std::vector<ConstBytes>& pieces, std::size_t first, std::size_t written);
  DiskOutcome keep(DiskOutcome outcome);
  // Checks that the file was not cut, removed or replaced from outside.
  [[nodiscard]] DiskOutcome check() const;
  // True if the folder's path leads to another file system than at the file's creation.
  [[nodiscard]] bool lost_its_disk() const;
  [[nodiscard]] DiskOutcome copy_back(std::uint64_t size);
  [[nodiscard]] int copy_to(int copy, std::uint64_t size) const;

  SystemCalls& calls_;
  int descriptor_;
  std::string path_;
  std::uint64_t size_ = 0;
  std::uint64_t writeback_end_ = 0;     // up to here the disk has been started
  bool has_identity_ = false;           // the file system distinguishes files by their inode
  std::optional<dev_t> folder_device_;  // at the file's creation
  DiskOutcome outcome_;                 // of the failed operation, until truncate()
};

}  // namespace weir::storage
