#include <weir/assembly/slice_memory.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>

namespace weir::assembly {
namespace {

// Fragments slightly above half a block, each in a separate block, would double the memory of a slice.
constexpr std::size_t kGrowth = 8;

}  // namespace

bool SliceMemory::reserve(BufferPool& pool, std::size_t size) {
  if (size <= room_) return true;
  const auto block = pool.allocate(size);
  if (!block) return false;
  add(pool, *block);
  return true;
}

std::byte* SliceMemory::allocate(BufferPool& pool, std::size_t size, std::size_t hint) {
  const std::size_t wanted = placed_bytes(size);
  if (wanted > room_) {
    std::size_t liked = std::max(wanted, blocks_.empty() ? hint : bytes_ / kGrowth);
    auto block = pool.allocate(liked);
    while (!block && liked > wanted) {
      liked = std::max(wanted, liked / 2);
      block = pool.allocate(liked);
    }
    if (!block) return nullptr;
    add(pool, *block);
  }
  std::byte* at = next_;
  next_ += wanted;
  WEIR_ASSERT(wanted <= room_);
  room_ -= wanted;
  placed_ += wanted;
  return at;
}

void SliceMemory::add(BufferPool& pool, const BufferBlock& block) {
  blocks_.push_back(block);
  bytes_ += block.size;
  next_ = pool.address(block);
  room_ = block.size;
}

void SliceMemory::release(BufferPool& pool) {
  WEIR_ASSERT(!is_shared());
  for (const BufferBlock& block : blocks_) pool.release(block);
  blocks_.clear();
  next_ = nullptr;
  room_ = 0;
  bytes_ = 0;
  placed_ = 0;
}

std::shared_ptr<const void> SliceMemory::share() {
  if (!shared_) shared_ = std::make_shared<const Shared>();
  return shared_;
}

}  // namespace weir::assembly
