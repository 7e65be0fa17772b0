#pragma once

#include <weir/base/buffer_pool.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace weir::assembly {

// Memory of one slice: blocks of the pool, filled from the front and released together.
class SliceMemory {
 public:
  // Returns the space of a fragment of `size` bytes in a block: fragments are aligned to 8 bytes.
  [[nodiscard]] static constexpr std::size_t placed_bytes(std::size_t size) { return (size + 7) / 8 * 8; }

  // Charges one block to the pool if fewer than `size` bytes are left. Returns false if the pool has no such
  // block; then nothing has changed. The rest of an earlier block stays unused.
  [[nodiscard]] bool reserve(BufferPool& pool, std::size_t size);
  // Returns `size` bytes, aligned to 8, or null if the pool has no block. The first block has `hint` bytes, a
  // later one an eighth of the memory so far if the pool has it, otherwise half of that, and so on.
  [[nodiscard]] std::byte* allocate(BufferPool& pool, std::size_t size, std::size_t hint);
  // Whether allocate() finds room for `size` bytes without leaving the rest of a begun block unused.
  [[nodiscard]] bool fits(std::size_t size) const { return blocks_.empty() || size <= room_; }
  // Requires: it is not shared.
  void release(BufferPool& pool);
  [[nodiscard]] std::size_t bytes() const { return bytes_; }    // charged to the pool
  [[nodiscard]] std::size_t placed() const { return placed_; }  // placed_bytes() of all that was allocated
  [[nodiscard]] std::size_t room() const { return room_; }      // left in the last block

  // Returns a token for parts that refer to the bytes for an unknown time, such as a connection's queue. The
  // last token triggers no action: the owner checks is_shared() before it releases the memory.
  [[nodiscard]] std::shared_ptr<const void> share();
  [[nodiscard]] bool is_shared() const { return shared_.use_count() > 1; }

 private:
  struct Shared {};

  void add(BufferPool& pool, const BufferBlock& block);

  std::vector<BufferBlock> blocks_;
  std::byte* next_ = nullptr;
  std::size_t room_ = 0;
  std::size_t bytes_ = 0;
  std::size_t placed_ = 0;
  std::shared_ptr<const Shared> shared_;  // made once, and kept for the memory of the slices to come
};

}  // namespace weir::assembly
