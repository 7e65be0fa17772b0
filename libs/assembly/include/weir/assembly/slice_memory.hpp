#pragma once

#include <weir/base/buffer_pool.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace weir::assembly {

// Memory of one slice: blocks of the pool, filled from the front, given back together.
class SliceMemory {
 public:
  // `size` bytes, aligned to 8, or nothing when the pool has no block. The first block is made `hint` bytes
  // large when that is more.
  [[nodiscard]] std::byte* allocate(BufferPool& pool, std::size_t size, std::size_t hint);
  // Whether allocate() finds room for `size` bytes without leaving the rest of a begun block unused.
  [[nodiscard]] bool fits(std::size_t size) const { return blocks_.empty() || size <= room_; }
  // Not while it is shared.
  void release(BufferPool& pool);
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  // charged to the pool

  // A part that refers to the bytes for as long as it likes, as a connection's queue does, keeps a copy of
  // this meanwhile. Nothing happens when the last copy goes: the memory is released by a part that looks
  // first.
  [[nodiscard]] std::shared_ptr<const void> share();
  [[nodiscard]] bool is_shared() const { return shared_.use_count() > 1; }

 private:
  struct Shared {};

  std::vector<BufferBlock> blocks_;
  std::byte* next_ = nullptr;
  std::size_t room_ = 0;
  std::size_t bytes_ = 0;
  std::shared_ptr<const Shared> shared_;  // made once, and kept for the memory of the slices to come
};

}  // namespace weir::assembly
