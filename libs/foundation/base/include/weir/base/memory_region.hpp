#pragma once

#include <weir/base/bytes.hpp>

#include <cstddef>
#include <string>

namespace weir {

// Memory behind a memfd: another process can map the same bytes from the descriptor. The kernel provides
// pages when they are first touched. Throws std::runtime_error if the system does not have enough memory.
class MemoryRegion {
 public:
  MemoryRegion(const std::string& name, std::size_t size_bytes);
  ~MemoryRegion();
  MemoryRegion(const MemoryRegion&) = delete;
  MemoryRegion& operator=(const MemoryRegion&) = delete;

  // Makes this mapping the only writable one: later mappings are read-only, write() fails, and the size is
  // fixed. Cannot be undone. Throws std::runtime_error if the kernel refuses (Linux before 5.1).
  void seal();

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }  // owned by the region

 private:
  std::string name_;
  int descriptor_ = -1;
  Bytes bytes_;
};

}  // namespace weir
