#include <weir/base/memory_region.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace weir {
namespace {

constexpr int kSealFutureWrite = 0x0010;  // F_SEAL_FUTURE_WRITE, since Linux 5.1; not in every C library

[[noreturn]] void fail(const std::string& name, std::size_t size_bytes, const char* call, int error) {
  throw std::runtime_error("memory region '" + name + "' of " + std::to_string(size_bytes) +
                           " bytes: " + call + ": " + std::strerror(error) +
                           "; lower the configured buffer or free memory");
}

}  // namespace

MemoryRegion::MemoryRegion(const std::string& name, std::size_t size_bytes) : name_(name) {
  descriptor_ = ::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor_ < 0) fail(name, size_bytes, "memfd_create", errno);
  int sharing = MAP_SHARED;
  if (::ftruncate(descriptor_, static_cast<off_t>(size_bytes)) != 0) {
    const int error = errno;
    ::close(std::exchange(descriptor_, -1));
    if (error != EFBIG) fail(name, size_bytes, "ftruncate", error);
    sharing |= MAP_ANONYMOUS;  // `ulimit -f` limits a memfd, but not anonymous memory
  }
  void* at = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, sharing, descriptor_, 0);
  if (at == MAP_FAILED) {
    const int error = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    fail(name, size_bytes, "mmap", error);
  }
  bytes_ = Bytes(static_cast<std::byte*>(at), size_bytes);
}

MemoryRegion::~MemoryRegion() {
  ::munmap(bytes_.data(), bytes_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void MemoryRegion::seal() {
  if (descriptor_ < 0) {
    throw std::runtime_error(
        "memory region '" + name_ + "' of " + std::to_string(bytes_.size()) +
        " bytes cannot be shared: `ulimit -f` does not allow a file of that size; raise it");
  }
  if (::fcntl(descriptor_, F_ADD_SEALS, kSealFutureWrite | F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    fail(name_, bytes_.size(), "F_ADD_SEALS", errno);
}

}  // namespace weir
