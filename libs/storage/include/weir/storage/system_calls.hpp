#pragma once

#include <cstdint>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

namespace weir::storage {

// Every system call by which run files get onto the disk: the seam where tests let calls fail, and end the
// world between two of them. Each returns what the call of its name returns, with errno set where that is -1.
// One thread calls at a time.
class SystemCalls {
 public:
  virtual ~SystemCalls() = default;
  // Creates a file to write to at its end (O_APPEND: a file that is cut from outside does not grow a hole),
  // with the mode that the umask leaves; EEXIST when one exists.
  virtual int create(const std::string& path) = 0;
  virtual int open_directory(const std::string& path) = 0;
  // To sync what another process has written.
  virtual int open_existing(const std::string& path) = 0;
  // What is read next comes from the disk, as far as it is synced (posix_fadvise, POSIX_FADV_DONTNEED).
  virtual int drop_cache(int descriptor) = 0;
  virtual ssize_t pwritev(int descriptor, const iovec* pieces, int count, off_t offset) = 0;
  virtual int fdatasync(int descriptor) = 0;
  virtual int fsync(int descriptor) = 0;
  virtual int ftruncate(int descriptor, off_t size) = 0;
  // Fails with EEXIST if `to` exists; with EINVAL, ENOSYS or EOPNOTSUPP if the file system cannot do that
  // (NFS, some FUSE mounts).
  virtual int rename_noreplace(const std::string& from, const std::string& to) = 0;
  // Replaces `to`.
  virtual int rename(const std::string& from, const std::string& to) = 0;
  virtual int link(const std::string& from, const std::string& to) = 0;
  virtual int unlink(const std::string& path) = 0;
  virtual int close(int descriptor) = 0;
  virtual int stat_path(const std::string& path, struct stat& out) = 0;
  virtual int stat_open(int descriptor, struct stat& out) = 0;
  virtual ssize_t pread(int descriptor, void* to, std::size_t bytes, off_t offset) = 0;
  // The offset of the first hole, or the length (lseek, SEEK_HOLE).
  virtual off_t first_hole(int descriptor) = 0;
};

// Those of the operating system.
[[nodiscard]] SystemCalls& operating_system();

}  // namespace weir::storage
