#include <weir/base/memory_region.hpp>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

namespace weir {
namespace {

[[noreturn]] void fail(const std::string& name, std::size_t size_bytes, const char* call) {
  throw std::runtime_error("memory region '" + name + "' of " + std::to_string(size_bytes) +
                           " bytes: " + call + ": " + std::strerror(errno) +
                           "; lower the configured buffer or free memory");
}

}  // namespace

MemoryRegion::MemoryRegion(const std::string& name, std::size_t size_bytes) {
  descriptor_ = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (descriptor_ < 0) fail(name, size_bytes, "memfd_create");
  if (::ftruncate(descriptor_, static_cast<off_t>(size_bytes)) != 0) {
    const int saved = errno;
    ::close(descriptor_);
    errno = saved;
    fail(name, size_bytes, "ftruncate");
  }
  void* at = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (at == MAP_FAILED) {
    const int saved = errno;
    ::close(descriptor_);
    errno = saved;
    fail(name, size_bytes, "mmap");
  }
  bytes_ = Bytes(static_cast<std::byte*>(at), size_bytes);
}

MemoryRegion::~MemoryRegion() {
  ::munmap(bytes_.data(), bytes_.size());
  ::close(descriptor_);
}

}  // namespace weir
