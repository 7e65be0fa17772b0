#pragma once

#include <weir/storage/system_calls.hpp>

#include <string>

namespace weir::storage::test {

// The operating system's calls; a test overrides the one that it examines.
class ForwardedCalls : public SystemCalls {
 public:
  int create(const std::string& path) override { return real_.create(path); }
  int open_directory(const std::string& path) override { return real_.open_directory(path); }
  int open_existing(const std::string& path) override { return real_.open_existing(path); }
  int drop_cache(int descriptor) override { return real_.drop_cache(descriptor); }
  ssize_t pwritev(int descriptor, const iovec* pieces, int count, off_t offset) override {
    return real_.pwritev(descriptor, pieces, count, offset);
  }
  void start_writeback(int descriptor, off_t offset, off_t bytes) override {
    real_.start_writeback(descriptor, offset, bytes);
  }
  int fdatasync(int descriptor) override { return real_.fdatasync(descriptor); }
  int fsync(int descriptor) override { return real_.fsync(descriptor); }
  int ftruncate(int descriptor, off_t size) override { return real_.ftruncate(descriptor, size); }
  int rename_noreplace(const std::string& from, const std::string& to) override {
    return real_.rename_noreplace(from, to);
  }
  int rename(const std::string& from, const std::string& to) override { return real_.rename(from, to); }
  int link(const std::string& from, const std::string& to) override { return real_.link(from, to); }
  int unlink(const std::string& path) override { return real_.unlink(path); }
  int close(int descriptor) override { return real_.close(descriptor); }
  int stat_path(const std::string& path, struct stat& out) override { return real_.stat_path(path, out); }
  int stat_open(int descriptor, struct stat& out) override { return real_.stat_open(descriptor, out); }
  ssize_t pread(int descriptor, void* to, std::size_t bytes, off_t offset) override {
    return real_.pread(descriptor, to, bytes, offset);
  }
  off_t first_hole(int descriptor) override { return real_.first_hole(descriptor); }

 private:
  SystemCalls& real_ = operating_system();
};

}  // namespace weir::storage::test
