#include "weir_catch.hpp"
#include <weir/shaping/expected_size.hpp>

#include <algorithm>
#include <cstdint>
#include <random>

namespace weir::shaping {

TEST_CASE("a size that stays the same is expected exactly, also after a change") {
  ExpectedSize size;
  CHECK_FALSE(size.known());
  CHECK(size.bytes() == 0);
  size.note(1000);
  CHECK(size.known());
  CHECK(size.bytes() == 1000);
  for (int i = 0; i < 400; ++i) size.note(65'536);
  CHECK(size.bytes() == 65'536);
  for (int i = 0; i < 400; ++i) size.note(16);
  CHECK(size.bytes() == 16);
  for (int i = 0; i < 400; ++i) size.note(0);
  CHECK(size.bytes() == 0);
  CHECK(size.known());
  for (int i = 0; i < 600; ++i) size.note(UINT32_MAX);
  CHECK(size.bytes() == UINT32_MAX);
}

// The charge for requests in flight should equal the bytes that they bring. If the last size were used, a
// small fragment would admit many large ones.
TEST_CASE("of sizes that differ the mean is expected") {
  ExpectedSize size;
  std::mt19937 random(7);
  std::uint64_t sum = 0;
  std::uint64_t expected = 0;
  std::uint32_t least = UINT32_MAX;
  std::uint32_t most = 0;
  constexpr int kFragments = 20'000;
  for (int i = 0; i < kFragments; ++i) {
    const auto bytes = static_cast<std::uint32_t>(random() % 57'000);
    size.note(bytes);
    sum += bytes;
    if (i < 100) continue;
    expected += size.bytes();
    least = std::min(least, size.bytes());
    most = std::max(most, size.bytes());
  }
  const double mean = static_cast<double>(sum) / kFragments;
  CHECK(static_cast<double>(expected) / (kFragments - 100) > 0.98 * mean);
  CHECK(static_cast<double>(expected) / (kFragments - 100) < 1.02 * mean);
  CHECK(least > mean / 2);
  CHECK(most < 2 * mean);
}

}  // namespace weir::shaping
