#include "open_file.hpp"

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
    case EFBIG:
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

DiskOutcome failure(int error, const char* doing, const std::string& path) {
  return {disk_error(error), path + ": cannot " + doing + ": " + std::generic_category().message(error)};
}

}  // namespace

int sync_directory_of(SystemCalls& calls, const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const int directory = calls.open_directory(parent.empty() ? "." : parent);
  if (directory < 0) return errno;
  const int error = calls.fsync(directory) == 0 ? 0 : errno;
  calls.close(directory);
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
    // A device that takes nothing and gives no reason must not keep the thread for ever.
    if (written == 0) return keep(failure(ENOSPC, "write", path_));
    size_ += static_cast<std::uint64_t>(written);
    first = skip(pieces, first, static_cast<std::size_t>(written));
  }
  return {};
}

DiskOutcome OpenFile::sync() {
  if (outcome_.error != DiskError::none) return outcome_;
  if (calls_.fdatasync(descriptor_) != 0) return keep(failure(errno, "sync", path_));
  return {};
}

DiskOutcome OpenFile::truncate(std::uint64_t size) {
  if (calls_.ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    return keep(failure(errno, "truncate", path_));
  }
  size_ = size;
  outcome_ = {};
  return {};
}

DiskOutcome OpenFile::publish(const std::string& final_path) {
  if (outcome_.error != DiskError::none) return outcome_;
  if (calls_.fsync(descriptor_) != 0) return keep(failure(errno, "sync", path_));
  if (path_ != final_path) {
    if (const int error = rename_to(final_path); error != 0) {
      return keep(failure(error, "publish as", final_path));
    }
    path_ = final_path;
  }
  if (const int error = sync_directory_of(calls_, path_); error != 0) {
    return keep(failure(error, "sync the directory", path_));
  }
  return {};
}

int OpenFile::rename_to(const std::string& final_path) const {
  if (calls_.rename_noreplace(path_, final_path) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // File systems without RENAME_NOREPLACE (NFS): a hard link does not replace, either.
  if (calls_.link(path_, final_path) != 0) return errno;
  // Both names are the file's: with the old one still there it is published all the same.
  calls_.unlink(path_);
  return 0;
}

std::size_t OpenFile::skip(std::vector<ConstBytes>& pieces, std::size_t first, std::size_t written) {
  while (first < pieces.size() && written >= pieces[first].size()) written -= pieces[first++].size();
  if (first < pieces.size()) pieces[first] = pieces[first].subspan(written);
  return first;
}

DiskOutcome OpenFile::keep(DiskOutcome outcome) {
  outcome_ = outcome;
  return outcome;
}

}  // namespace weir::storage
