#include <weir/storage/system_calls.hpp>

#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::storage {
namespace {

class OperatingSystem final : public SystemCalls {
 public:
  int create(const std::string& path) override {
    return ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  int open_directory(const std::string& path) override {
    return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  int open_existing(const std::string& path) override { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }
  int drop_cache(int descriptor) override { return ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED); }
  ssize_t pwritev(int descriptor, const iovec* pieces, int count, off_t offset) override {
    return ::pwritev(descriptor, pieces, count, offset);
  }
  void start_writeback(int descriptor, off_t offset, off_t bytes) override {
    (void)::sync_file_range(descriptor, offset, bytes, SYNC_FILE_RANGE_WRITE);
  }
  int fdatasync(int descriptor) override { return ::fdatasync(descriptor); }
  int fsync(int descriptor) override { return ::fsync(descriptor); }
  int ftruncate(int descriptor, off_t size) override { return ::ftruncate(descriptor, size); }
  int rename_noreplace(const std::string& from, const std::string& to) override {
    return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  }
  int rename(const std::string& from, const std::string& to) override {
    return ::rename(from.c_str(), to.c_str());
  }
  int link(const std::string& from, const std::string& to) override {
    return ::link(from.c_str(), to.c_str());
  }
  int unlink(const std::string& path) override { return ::unlink(path.c_str()); }
  int close(int descriptor) override { return ::close(descriptor); }
  int stat_path(const std::string& path, struct stat& out) override { return ::stat(path.c_str(), &out); }
  int stat_open(int descriptor, struct stat& out) override { return ::fstat(descriptor, &out); }
  ssize_t pread(int descriptor, void* to, std::size_t bytes, off_t offset) override {
    return ::pread(descriptor, to, bytes, offset);
  }
  off_t first_hole(int descriptor) override { return ::lseek(descriptor, 0, SEEK_HOLE); }
};

}  // namespace

SystemCalls& operating_system() {
  static OperatingSystem calls;
  return calls;
}

}  // namespace weir::storage
