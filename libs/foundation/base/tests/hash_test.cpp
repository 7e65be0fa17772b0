#include "weir_catch.hpp"
#include <weir/base/bytes.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/base/hash.hpp>

#include <array>
#include <bit>
#include <set>
#include <string_view>
#include <unordered_set>

namespace weir {

TEST_CASE("mix64 gives the first numbers of SplitMix64 with seed 0") {
  constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15ULL;
  CHECK(mix64(0) == 0xe220a8397b1dcdafULL);
  CHECK(mix64(kGamma) == 0x6e789e6aa1b965f4ULL);
  CHECK(mix64(2 * kGamma) == 0x06c45d188009454fULL);
}

TEST_CASE("mix64 scatters neighbours: one flipped bit flips about half") {
  int flipped = 0;
  for (std::uint64_t id = 0; id < 100; ++id) {
    for (int bit = 0; bit < 64; ++bit) flipped += std::popcount(mix64(id) ^ mix64(id ^ (1ULL << bit)));
  }
  const double mean = flipped / 6400.0;
  CHECK(mean > 31);
  CHECK(mean < 33);
}

TEST_CASE("a slice sum does not depend on the order, and tells apart sets of equal count") {
  SliceSum up, down, other;
  for (std::uint64_t id = 0; id < 1000; ++id) {
    up.add(SliceId(id));
    down.add(SliceId(999 - id));
    other.add(SliceId(id == 500 ? 1000 : id));
  }
  CHECK(up == down);
  CHECK(up.count == other.count);
  CHECK_FALSE(up == other);
}

TEST_CASE("slice sums of two pairs of ids differ even if the ids add up to the same number") {
  SliceSum a, b;
  a.add(SliceId(10));
  a.add(SliceId(20));
  b.add(SliceId(14));
  b.add(SliceId(16));
  CHECK_FALSE(a == b);
}

TEST_CASE("an id that is added to a slice sum and removed again leaves no trace, and sums add up") {
  SliceSum all, first, second;
  for (std::uint64_t id = 0; id < 100; ++id) {
    all.add(SliceId(id));
    (id % 3 == 0 ? first : second).add(SliceId(id));
  }
  first += second;
  CHECK(first == all);
  for (std::uint64_t id = 0; id < 100; ++id) all.remove(SliceId(id));
  CHECK(all == SliceSum{});
}

TEST_CASE("ids hash and compare by value") {
  const std::unordered_set<SliceId> hashed = {SliceId(1), SliceId(2), SliceId(1)};
  CHECK(hashed.size() == 2);
  CHECK(SliceId(1) < SliceId(2));
  CHECK(SliceId(1).next() == SliceId(2));
  CHECK(Attempt(0xffff).next() == Attempt(0));
}

TEST_CASE("little-endian fields have the lowest byte first in memory, at any alignment") {
  std::array<std::byte, 12> bytes{};
  store_le(bytes.data() + 3, std::uint32_t{0x01020304});
  CHECK(bytes[3] == std::byte{0x04});
  CHECK(bytes[6] == std::byte{0x01});
  CHECK(load_le<std::uint32_t>(bytes.data() + 3) == 0x01020304);
  store_le(bytes.data() + 1, std::uint64_t{0x0102030405060708});
  CHECK(load_le<std::uint8_t>(bytes.data() + 1) == 0x08);
  CHECK(load_le<std::uint16_t>(bytes.data() + 7) == 0x0102);
}

TEST_CASE("every fragment status and missing reason has a unique name") {
  std::set<std::string_view> names;
  for (std::uint8_t i = 0; i <= 6; ++i) names.insert(name(static_cast<FragmentStatus>(i)));
  CHECK(names.size() == 7);
  CHECK(names.count("unknown") == 0);
  CHECK(name(static_cast<FragmentStatus>(7)) == "unknown");
  names.clear();
  for (std::uint8_t i = 0; i < kMissingReasons; ++i) names.insert(name(static_cast<MissingReason>(i)));
  CHECK(names.size() == kMissingReasons);
  CHECK(names.count("unknown") == 0);
  CHECK(name(static_cast<MissingReason>(kMissingReasons)) == "unknown");
}

}  // namespace weir
