#include <weir/assembly/slice_memory.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>

namespace weir::assembly {

std::byte* SliceMemory::allocate(BufferPool& pool, std::size_t size, std::size_t hint) {
  const std::size_t wanted = (size + 7) / 8 * 8;
  if (wanted > room_) {
    auto block = pool.allocate(blocks_.empty() ? std::max(wanted, hint) : wanted);
    if (!block && hint > wanted) block = pool.allocate(wanted);
    if (!block) return nullptr;
    blocks_.push_back(*block);
    bytes_ += block->size;
    next_ = pool.address(*block);
    room_ = block->size;
  }
  std::byte* at = next_;
  next_ += wanted;
  room_ -= wanted;
  return at;
}

void SliceMemory::release(BufferPool& pool) {
  WEIR_ASSERT(!is_shared());
  for (const BufferBlock& block : blocks_) pool.release(block);
  blocks_.clear();
  next_ = nullptr;
  room_ = 0;
  bytes_ = 0;
}

std::shared_ptr<const void> SliceMemory::share() {
  if (!shared_) shared_ = std::make_shared<const Shared>();
  return shared_;
}

}  // namespace weir::assembly
