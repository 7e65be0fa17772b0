#pragma once

#include <cstdint>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

namespace weir::storage {

// All system calls that put run files on disk. Tests override them to make calls fail, or to end the process
// between two of them. Each returns the result of the call of its name, with errno set if that is -1. Called
// by one thread at a time.
class SystemCalls {
 public:
  virtual ~SystemCalls() = default;
  // Creates a file for appending (O_APPEND: a file that is cut from outside does not get a hole), with the
  // mode that the umask leaves. Errors: EEXIST.
  virtual int create(const std::string& path) = 0;
  virtual int open_directory(const std::string& path) = 0;
  // Opens a file to sync another process' writes.
  virtual int open_existing(const std::string& path) = 0;
  // Makes the next reads come from the disk, for synced data (posix_fadvise, POSIX_FADV_DONTNEED).
  virtual int drop_cache(int descriptor) = 0;
  virtual ssize_t pwritev(int descriptor, const iovec* pieces, int count, off_t offset) = 0;
  // Starts to write a range of the file to disk, without waiting for it (sync_file_range). Nothing is durable
  // before fdatasync(), which then has less to write; a failure is found there, too.
  virtual void start_writeback(int descriptor, off_t offset, off_t bytes) = 0;
  virtual int fdatasync(int descriptor) = 0;
  virtual int fsync(int descriptor) = 0;
  virtual int ftruncate(int descriptor, off_t size) = 0;
  // Errors: EEXIST if `to` exists; EINVAL, ENOSYS or EOPNOTSUPP if the file system does not support it (NFS,
  // some FUSE mounts).
  virtual int rename_noreplace(const std::string& from, const std::string& to) = 0;
  // Replaces `to`.
  virtual int rename(const std::string& from, const std::string& to) = 0;
  virtual int link(const std::string& from, const std::string& to) = 0;
  virtual int unlink(const std::string& path) = 0;
  virtual int close(int descriptor) = 0;
  virtual int stat_path(const std::string& path, struct stat& out) = 0;
  virtual int stat_open(int descriptor, struct stat& out) = 0;
  virtual ssize_t pread(int descriptor, void* to, std::size_t bytes, off_t offset) = 0;
  // Returns the offset of the first hole, or the length (lseek, SEEK_HOLE).
  virtual off_t first_hole(int descriptor) = 0;
};

// Returns the operating system's calls.
[[nodiscard]] SystemCalls& operating_system();

}  // namespace weir::storage
