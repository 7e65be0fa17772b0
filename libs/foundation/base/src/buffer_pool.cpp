#include <weir/base/assert.hpp>
#include <weir/base/buffer_pool.hpp>

#include <algorithm>
#include <bit>

namespace weir {

BufferPool::BufferPool(Bytes memory)
    : memory_(memory.first(memory.size() / kBlockMin * kBlockMin)), units_(memory_.size() / kBlockMin) {
  WEIR_ASSERT(!units_.empty() && units_.size() < kNone);
  free_heads_.fill(kNone);
  std::uint32_t at = 0;
  const auto count = static_cast<std::uint32_t>(units_.size());
  while (at < count) {  // the largest aligned power of two that fits
    const int aligned = at == 0 ? 31 : std::countr_zero(at);
    const int fits = std::countr_zero(std::bit_floor(count - at));
    const auto order = static_cast<std::size_t>(aligned < fits ? aligned : fits);
    push_free(at, order);
    at += 1U << order;
  }
}

std::size_t BufferPool::block_bytes(std::size_t size) {
  return size == 0 ? 0 : std::bit_ceil(std::max(size, kBlockMin));
}

std::optional<BufferBlock> BufferPool::allocate(std::size_t size) {
  if (size == 0 || size > memory_.size()) return std::nullopt;
  const std::size_t units = (size + kBlockMin - 1) / kBlockMin;
  const auto wanted = static_cast<std::size_t>(std::bit_width(units - 1));
  std::size_t order = wanted;
  while (order < kOrders && free_heads_[order] == kNone) ++order;
  if (order >= kOrders) return std::nullopt;
  const std::uint32_t unit = free_heads_[order];
  remove_free(unit);
  while (order > wanted) {
    --order;
    push_free(unit + (1U << order), order);
  }
  units_[unit].order = static_cast<std::uint8_t>(wanted);
  const std::size_t bytes = kBlockMin << wanted;
  bytes_used_ += bytes;
  return BufferBlock{static_cast<std::uint64_t>(unit) * kBlockMin, bytes};
}

void BufferPool::release(BufferBlock block) {
  auto unit = static_cast<std::uint32_t>(block.offset / kBlockMin);
  WEIR_ASSERT(unit < units_.size() && !units_[unit].free && units_[unit].order != kInside);
  std::size_t order = units_[unit].order;
  WEIR_ASSERT(block.offset % kBlockMin == 0 && kBlockMin << order == block.size);
  bytes_used_ -= block.size;
  for (;;) {
    const std::uint32_t buddy = unit ^ (1U << order);
    const bool whole = static_cast<std::size_t>(buddy) + (1U << order) <= units_.size();
    if (!whole || !units_[buddy].free || units_[buddy].order != order) break;
    remove_free(buddy);
    units_[std::max(unit, buddy)].order = kInside;
    unit = std::min(unit, buddy);
    ++order;
  }
  push_free(unit, order);
}

void BufferPool::push_free(std::uint32_t unit, std::size_t order) {
  Unit& entry = units_[unit];
  entry = Unit{free_heads_[order], kNone, static_cast<std::uint8_t>(order), true};
  if (entry.next != kNone) units_[entry.next].previous = unit;
  free_heads_[order] = unit;
}

void BufferPool::remove_free(std::uint32_t unit) {
  Unit& entry = units_[unit];
  if (entry.previous != kNone) {
    units_[entry.previous].next = entry.next;
  } else {
    free_heads_[entry.order] = entry.next;
  }
  if (entry.next != kNone) units_[entry.next].previous = entry.previous;
  entry.free = false;
}

}  // namespace weir
