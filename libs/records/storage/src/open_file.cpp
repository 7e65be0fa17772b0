#include "open_file.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace weir::storage {
namespace {

using ports::DiskError;

DiskError disk_error(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return DiskError::no_space;
    case EACCES:
    case EPERM:
    case EROFS:
      return DiskError::not_writable;
    case EEXIST:
      return DiskError::exists;
    case ENOENT:
    case ENOTDIR:
      return DiskError::not_found;
    default:
      return DiskError::io;
  }
}

// True if the file system does not support the call.
bool is_unable(int error) {
  return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM || error == EMLINK;
}

// True for an empty file left by an earlier attempt. Sets errno to EEXIST for any other file.
bool is_placeholder(SystemCalls& calls, const std::string& path) {
  struct stat there = {};
  const bool empty = calls.stat_path(path, there) == 0 && S_ISREG(there.st_mode) && there.st_size == 0;
  errno = EEXIST;
  return empty;
}

std::string folder_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

constexpr const char* kUnmounted = ": its disk was unmounted: mount it again";
constexpr const char* kForeign = ".foreign";  // for a file found under a run file's name
constexpr std::size_t kCopyBytes = 1U << 20;
// Written to disk while the file grows; less than this waits for the sync.
constexpr std::uint64_t kWritebackBytes = 4U << 20;

}  // namespace

DiskOutcome failure(int error, const char* doing, const std::string& path) {
  std::string why = std::generic_category().message(error);
  if (error == EFBIG)
    why +=
        ": the file system, or the limit of ulimit -f, allows no larger file; set writer.file_bytes_max "
        "below it, or raise the limit";
  return {disk_error(error), path + ": cannot " + doing + ": " + why};
}

bool is_same_file(SystemCalls& calls, const std::string& one, const std::string& other) {
  struct stat first = {};
  struct stat second = {};
  return calls.stat_path(one, first) == 0 && calls.stat_path(other, second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

int sync_directory_of(SystemCalls& calls, const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const int directory = calls.open_directory(parent.empty() ? "." : parent);
  if (directory < 0) return errno;
  const int error = calls.fsync(directory) == 0 ? 0 : errno;
  calls.close(directory);
  return error;
}

int rename_to_new(SystemCalls& calls, const std::string& from, const std::string& to) {
  if (calls.rename_noreplace(from, to) == 0) return 0;
  if (!is_unable(errno)) return errno;
  if (calls.link(from, to) == 0) {
    // The file is published, even if its old name stays: a loss of power must not keep the second change
    // without the first.
    if (sync_directory_of(calls, to) == 0) calls.unlink(from);
    return 0;
  }
  if (!is_unable(errno)) return errno;
  // An empty file reserves the name first, so that the rename cannot replace another file.
  const int placeholder = calls.create(to);
  if (placeholder >= 0) calls.close(placeholder);
  if (placeholder < 0 && !(errno == EEXIST && is_placeholder(calls, to))) return errno;
  if (calls.rename(from, to) == 0) return 0;
  const int error = errno;
  calls.unlink(to);
  return error;
}

DiskOutcome OpenFile::create(SystemCalls& calls, const std::string& path, std::unique_ptr<OpenFile>& out) {
  const int descriptor = calls.create(path);
  if (descriptor < 0) return failure(errno, "create", path);
  auto file = std::unique_ptr<OpenFile>(new OpenFile(calls, descriptor, path));
  if (const int error = sync_directory_of(calls, path); error != 0) {
    calls.unlink(path);
    return failure(error, "sync the directory", path);
  }
  struct stat named = {};
  struct stat open = {};
  file->has_identity_ = calls.stat_path(path, named) == 0 && calls.stat_open(descriptor, open) == 0 &&
                        named.st_ino == open.st_ino;
  struct stat folder = {};
  if (calls.stat_path(folder_of(path), folder) == 0) file->folder_device_ = folder.st_dev;
  out = std::move(file);
  return {};
}

DiskOutcome OpenFile::append(std::vector<ConstBytes>& pieces) {
  if (outcome_.error != DiskError::none) return outcome_;
  constexpr std::size_t kPiecesMax = 1024;  // IOV_MAX on Linux
  std::array<iovec, kPiecesMax> vector{};
  std::size_t first = skip(pieces, 0, 0);
  while (first < pieces.size()) {
    const std::size_t count = std::min(pieces.size() - first, kPiecesMax);
    for (std::size_t i = 0; i < count; ++i) {
      vector[i] = {const_cast<std::byte*>(pieces[first + i].data()), pieces[first + i].size()};
    }
    const ssize_t written =
        calls_.pwritev(descriptor_, vector.data(), static_cast<int>(count), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return keep(failure(errno, "write", path_));
    // A device that accepts no bytes without an error must not block the thread forever.
    if (written == 0) return keep(failure(ENOSPC, "write", path_));
    size_ += static_cast<std::uint64_t>(written);
    first = skip(pieces, first, static_cast<std::size_t>(written));
  }
  if (size_ - writeback_end_ >= kWritebackBytes) {
    calls_.start_writeback(descriptor_, static_cast<off_t>(writeback_end_),
                           static_cast<off_t>(size_ - writeback_end_));
    writeback_end_ = size_;
  }
  return {};
}

DiskOutcome OpenFile::sync() {
  if (outcome_.error != DiskError::none) return outcome_;
  if (calls_.fdatasync(descriptor_) != 0) return keep(failure(errno, "sync", path_));
  writeback_end_ = size_;
  return keep(check());
}

DiskOutcome OpenFile::check() const {
  struct stat open = {};
  struct stat named = {};
  if (calls_.stat_open(descriptor_, open) != 0) return failure(errno, "look at", path_);
  if (static_cast<std::uint64_t>(open.st_size) != size_) {
    return {DiskError::changed, path_ + ": changed by another process: it has " +
                                    std::to_string(open.st_size) + " bytes instead of " +
                                    std::to_string(size_)};
  }
  if (calls_.stat_path(path_, named) != 0) {
    if (errno != ENOENT) return failure(errno, "look at", path_);
    const int folder = calls_.open_directory(folder_of(path_));
    if (folder < 0 && errno == ENOENT)
      return {DiskError::changed,
              path_ + ": its folder was renamed or removed, or its disk unmounted: bring it back"};
    if (folder >= 0) calls_.close(folder);
    if (lost_its_disk()) return {DiskError::changed, path_ + kUnmounted};
    return {DiskError::changed, path_ + ": removed by another process"};
  }
  if (has_identity_ && named.st_ino != open.st_ino)
    return {DiskError::changed, path_ + (lost_its_disk() ? kUnmounted : ": replaced with another file")};
  return {};
}

bool OpenFile::lost_its_disk() const {
  struct stat folder = {};
  return folder_device_ && calls_.stat_path(folder_of(path_), folder) == 0 &&
         folder.st_dev != *folder_device_;
}

// A file without a name keeps its contents while it is open here, but only a copy can get the name again.
DiskOutcome OpenFile::restore(std::uint64_t& size) {
  struct stat open = {};
  struct stat named = {};
  if (calls_.stat_open(descriptor_, open) != 0) return keep(failure(errno, "look at", path_));
  size = static_cast<std::uint64_t>(open.st_size);
  const bool is_named = calls_.stat_path(path_, named) == 0;
  if (!is_named && errno != ENOENT) return keep(failure(errno, "look at", path_));
  if (is_named && (named.st_ino == open.st_ino || !has_identity_)) return {};
  // Its copy would fill the disk below the mount point.
  if (lost_its_disk()) return keep({DiskError::not_found, path_ + kUnmounted});
  const int error = is_named ? rename_to_new(calls_, path_, path_ + kForeign) : 0;
  if (error != 0) return keep(failure(error, "move away the file that took its place", path_));
  return keep(copy_back(size));
}

DiskOutcome OpenFile::copy_back(std::uint64_t size) {
  const int copy = calls_.create(path_);
  if (copy < 0) return failure(errno, "create again", path_);
  int error = copy_to(copy, size);
  if (error == 0) error = sync_directory_of(calls_, path_);
  if (error != 0) {
    calls_.close(copy);
    calls_.unlink(path_);
    return failure(error, "write again", path_);
  }
  calls_.close(descriptor_);
  descriptor_ = copy;
  return {};
}

int OpenFile::copy_to(int copy, std::uint64_t size) const {
  std::vector<std::byte> block(kCopyBytes);
  for (std::uint64_t at = 0; at < size;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), size - at));
    const ssize_t got = calls_.pread(descriptor_, block.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;  // the file is being cut: its length is checked again
    for (ssize_t done = 0; done < got;) {
      const iovec piece{block.data() + done, static_cast<std::size_t>(got - done)};
      const ssize_t written =
          calls_.pwritev(copy, &piece, 1, static_cast<off_t>(at) + static_cast<off_t>(done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return written == 0 ? ENOSPC : errno;
      done += written;
    }
    at += static_cast<std::uint64_t>(got);
  }
  return calls_.fdatasync(copy) == 0 ? 0 : errno;
}

DiskOutcome OpenFile::truncate(std::uint64_t size) {
  if (calls_.ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    return keep(failure(errno, "truncate", path_));
  }
  size_ = writeback_end_ = size;
  outcome_ = {};
  return {};
}

DiskOutcome OpenFile::publish(const std::string& final_path) {
  if (outcome_.error != DiskError::none) return outcome_;
  if (calls_.fsync(descriptor_) != 0) return keep(failure(errno, "sync", path_));
  if (const DiskOutcome found = check(); found.error != DiskError::none) return keep(found);
  if (path_ != final_path) {
    if (const int error = rename_to_new(calls_, path_, final_path); error != 0) {
      return keep(failure(error, "publish as", final_path));
    }
    path_ = final_path;
  }
  if (const int error = sync_directory_of(calls_, path_); error != 0) {
    return keep(failure(error, "sync the directory", path_));
  }
  return {};
}

std::size_t OpenFile::skip(std::vector<ConstBytes>& pieces, std::size_t first, std::size_t written) {
  while (first < pieces.size() && written >= pieces[first].size()) written -= pieces[first++].size();
  WEIR_ASSERT(first < pieces.size() || written == 0);
  if (first < pieces.size()) pieces[first] = pieces[first].subspan(written);
  return first;
}

DiskOutcome OpenFile::keep(DiskOutcome outcome) {
  outcome_ = outcome;
  return outcome;
}

}  // namespace weir::storage
