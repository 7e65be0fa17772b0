#include "mapped_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace weir::storage {
namespace {

Unexpected<StorageFailure> failure(const std::string& path, const char* doing, int error) {
  return Unexpected<StorageFailure>(
      {error == ENOENT ? StorageError::not_found : StorageError::io,
       path + ": cannot " + doing + ": " + std::generic_category().message(error)});
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

}  // namespace

Expected<MappedFile, StorageFailure> MappedFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // does not block on a pipe
  if (descriptor < 0) return failure(path, "open", errno);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    const int error = errno;
    ::close(descriptor);
    return failure(path, "look at", error);
  }
  MappedFile file;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* at = nullptr;
  if (S_ISREG(status.st_mode) && size > 0) at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  if (!S_ISREG(status.st_mode)) {
    return Unexpected<StorageFailure>(
        {StorageError::io,
         path + ": cannot read: it is " + kind_of(status.st_mode) + ", and run files are regular files"});
  }
  if (at == MAP_FAILED) return failure(path, "read", error);
  if (at != nullptr) file.bytes_ = ConstBytes(static_cast<const std::byte*>(at), size);
  return file;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace weir::storage
