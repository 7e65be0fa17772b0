#pragma once

#include <weir/base/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir {

// A block of a BufferPool. `offset` counts from the pool's first byte, so that a process that maps the same
// region finds the block at another address.
struct BufferBlock {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// Hands out blocks of a given memory by the buddy scheme (Knuth, TAOCP vol. 1, 2.5): sizes are powers of two
// from block_min up; allocation and release take at most log2(size / block_min) steps and no system call. Not
// thread-safe.
class BufferPool {
 public:
  static constexpr std::size_t kBlockMin = 4096;

  // Uses the largest multiple of kBlockMin inside `memory`. Requires: `memory` holds at least one, and
  // outlives the pool.
  explicit BufferPool(Bytes memory);

  // Returns the size of the block that allocate(size) charges; 0 for 0.
  [[nodiscard]] static std::size_t block_bytes(std::size_t size);

  // Returns a block of at least `size` bytes, or nothing if no free block is large enough.
  [[nodiscard]] std::optional<BufferBlock> allocate(std::size_t size);
  // Releases a block. Requires: `block` came from allocate() and was not released before (asserted).
  void release(BufferBlock block);

  [[nodiscard]] std::byte* address(BufferBlock block) const { return memory_.data() + block.offset; }
  [[nodiscard]] std::size_t bytes_used() const { return bytes_used_; }
  [[nodiscard]] std::size_t bytes_total() const { return memory_.size(); }

 private:
  static constexpr std::size_t kOrders = 40;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint8_t kInside = UINT8_MAX;  // the order of a unit that does not begin a block
  // One entry per kBlockMin of memory.
  struct Unit {
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
    std::uint8_t order = kInside;
    bool free = false;
  };

  void push_free(std::uint32_t unit, std::size_t order);
  void remove_free(std::uint32_t unit);

  Bytes memory_;
  std::vector<Unit> units_;
  std::array<std::uint32_t, kOrders> free_heads_{};
  std::size_t bytes_used_ = 0;
};

}  // namespace weir
