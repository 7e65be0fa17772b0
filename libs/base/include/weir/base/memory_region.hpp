#pragma once

#include <weir/base/bytes.hpp>

#include <cstddef>
#include <string>

namespace weir {

// A stretch of memory behind a memfd: another process can map the same bytes from the descriptor. Pages are
// given by the kernel when first touched. Throws std::runtime_error when the system has not that much.
class MemoryRegion {
 public:
  MemoryRegion(const std::string& name, std::size_t size_bytes);
  ~MemoryRegion();
  MemoryRegion(const MemoryRegion&) = delete;
  MemoryRegion& operator=(const MemoryRegion&) = delete;

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }  // owned by the region

 private:
  int descriptor_ = -1;
  Bytes bytes_;
};

}  // namespace weir
