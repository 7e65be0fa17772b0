#include "weir_catch.hpp"
#include <weir/base/buffer_pool.hpp>
#include <weir/base/hash.hpp>
#include <weir/base/memory_region.hpp>

#include <bit>
#include <iterator>
#include <map>
#include <unistd.h>
#include <vector>

namespace weir {
namespace {

constexpr std::size_t kBlock = BufferPool::kBlockMin;

// The pool writes nothing into the memory that it hands out, so a pool of any size costs only its
// bookkeeping.
Bytes pretended_memory(std::size_t size) {
  static std::byte first{};
  return {&first, size};
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix64(seed)) {}
  std::uint64_t below(std::uint64_t limit) { return (state_ = mix64(state_)) % limit; }

 private:
  std::uint64_t state_;
};

// The reference model of a pool, as simple and slow as possible: a map of the blocks in use.
class PoolModel {
 public:
  explicit PoolModel(std::size_t total) : total_(total) {}

  void took(BufferBlock block, std::size_t wanted) {
    CHECK(block.size == std::bit_ceil(std::max(wanted, kBlock)));
    CHECK(block.offset % block.size == 0);
    CHECK(block.offset + block.size <= total_);
    const auto after = out_.lower_bound(block.offset);
    if (after != out_.end()) CHECK(block.offset + block.size <= after->first);
    if (after != out_.begin()) CHECK(std::prev(after)->first + std::prev(after)->second <= block.offset);
    out_[block.offset] = block.size;
    used_ += block.size;
  }

  BufferBlock give_back(std::size_t index) {
    const auto at = std::next(out_.begin(), static_cast<std::ptrdiff_t>(index));
    const BufferBlock block{at->first, at->second};
    out_.erase(at);
    used_ -= block.size;
    return block;
  }

  // True if an aligned range of `size` bytes overlaps no block in use. A buddy pool has it free as well.
  [[nodiscard]] bool has_room(std::size_t size) const {
    for (std::uint64_t begin = 0; begin + size <= total_; begin += size) {
      const auto after = out_.lower_bound(begin);
      const bool clear_above = after == out_.end() || after->first >= begin + size;
      const bool clear_below =
          after == out_.begin() || std::prev(after)->first + std::prev(after)->second <= begin;
      if (clear_above && clear_below) return true;
    }
    return false;
  }

  [[nodiscard]] std::size_t blocks() const { return out_.size(); }
  [[nodiscard]] std::uint64_t used() const { return used_; }

 private:
  std::uint64_t total_;
  std::uint64_t used_ = 0;
  std::map<std::uint64_t, std::uint64_t> out_;
};

// The largest blocks that a pool of `total` bytes divides into, in descending order.
std::vector<std::size_t> largest_blocks(std::size_t total) {
  std::vector<std::size_t> sizes;
  for (; total > 0; total -= sizes.back()) sizes.push_back(std::bit_floor(total));
  return sizes;
}

}  // namespace

TEST_CASE("a buffer pool agrees with a simple model through random allocations and releases") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 13)));
  CAPTURE(seed);
  Random random(seed);
  const std::size_t total = (1 + random.below(300)) * kBlock;
  BufferPool pool(pretended_memory(total));
  PoolModel model(total);
  REQUIRE(pool.bytes_total() == total);

  for (int step = 0; step < 1500; ++step) {
    const bool filling = step % 500 < 300;
    if (model.blocks() > 0 && random.below(10) < (filling ? 3U : 7U)) {
      pool.release(model.give_back(random.below(model.blocks())));
    } else {
      const std::size_t wanted = 1 + random.below(kBlock << random.below(8));
      const auto block = pool.allocate(wanted);
      CHECK(block.has_value() == model.has_room(std::bit_ceil(std::max(wanted, kBlock))));
      if (block) model.took(*block, wanted);
    }
    CHECK(pool.bytes_used() == model.used());
  }

  while (model.blocks() > 0) pool.release(model.give_back(random.below(model.blocks())));
  CHECK(pool.bytes_used() == 0);
  for (const std::size_t size : largest_blocks(total)) {
    const auto block = pool.allocate(size);
    REQUIRE(block.has_value());
    model.took(*block, size);
  }
  CHECK(pool.bytes_used() == total);
}

TEST_CASE("an exhausted pool fails, and succeeds again after a release") {
  BufferPool pool(pretended_memory(4 * kBlock));
  std::vector<BufferBlock> blocks;
  while (const auto block = pool.allocate(1)) blocks.push_back(*block);
  CHECK(blocks.size() == 4);
  CHECK(pool.bytes_used() == pool.bytes_total());
  CHECK_FALSE(pool.allocate(1).has_value());

  pool.release(blocks[2]);
  CHECK_FALSE(pool.allocate(2 * kBlock).has_value());
  const auto again = pool.allocate(kBlock);
  REQUIRE(again.has_value());
  CHECK(again->offset == blocks[2].offset);
}

TEST_CASE("a pool refuses zero bytes and more than its size") {
  BufferPool pool(pretended_memory(8 * kBlock));
  CHECK_FALSE(pool.allocate(0).has_value());
  CHECK_FALSE(pool.allocate(8 * kBlock + 1).has_value());
  CHECK_FALSE(pool.allocate(SIZE_MAX).has_value());
  CHECK(pool.allocate(8 * kBlock).has_value());
}

TEST_CASE("a request that rounds up to more than the largest block is refused") {
  BufferPool pool(pretended_memory(6 * kBlock));
  CHECK_FALSE(pool.allocate(5 * kBlock).has_value());
  CHECK(pool.allocate(4 * kBlock).has_value());
  CHECK(pool.allocate(2 * kBlock).has_value());
}

TEST_CASE("memory that is not a multiple of the smallest block is used up to the last whole block") {
  BufferPool pool(pretended_memory(3 * kBlock + kBlock - 1));
  CHECK(pool.bytes_total() == 3 * kBlock);
}

TEST_CASE("a pool with a power of two is one block, and splits down to the smallest") {
  constexpr std::size_t kTotal = std::size_t{1} << 28;
  BufferPool pool(pretended_memory(kTotal));
  const auto all = pool.allocate(kTotal);
  REQUIRE(all.has_value());
  CHECK(all->offset == 0);
  CHECK(all->size == kTotal);
  pool.release(*all);
  std::size_t given = 0;
  for (std::size_t size = kTotal / 2; size >= kBlock; size /= 2) {
    const auto block = pool.allocate(size);
    REQUIRE(block.has_value());
    given += block->size;
  }
  CHECK(given == kTotal - kBlock);
}

TEST_CASE("a block's address is its offset in the region, and a second mapping of the region has its bytes") {
  MemoryRegion region("weir-test", 4 * kBlock);
  BufferPool pool(region.bytes());
  REQUIRE(pool.allocate(1).has_value());
  const auto block = pool.allocate(2 * kBlock);
  REQUIRE(block.has_value());
  CHECK(pool.address(*block) == region.bytes().data() + block->offset);

  pool.address(*block)[0] = std::byte{0x42};
  std::byte seen{};
  REQUIRE(::pread(region.descriptor(), &seen, 1, static_cast<off_t>(block->offset)) == 1);
  CHECK(seen == std::byte{0x42});
}

TEST_CASE("a memory region that the system cannot provide is refused with its name and the remedy") {
  using Catch::Matchers::ContainsSubstring;
  REQUIRE_THROWS_WITH(
      MemoryRegion("too-large", std::size_t{1} << 62),
      ContainsSubstring("memory region 'too-large'") && ContainsSubstring("lower the configured"));
}

}  // namespace weir
