#include "fixed_checksum.hpp"

#include "weir_catch.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace weir;

TEST_CASE("plugins of any bytes have the same size and checksum in the simulator") {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{199'024}, sim::kPluginBytes - 5}) {
    CAPTURE(size);
    std::vector<std::byte> file(size, static_cast<std::byte>(size + 7));
    const std::vector<std::byte> before = file;
    sim::fix_checksum(file);
    CHECK(file.size() == sim::kPluginBytes);
    CHECK(crc32c(ConstBytes(file)) == sim::kPluginCrc32c);
    CHECK(std::equal(before.begin(), before.end(), file.begin()));
  }
}

TEST_CASE("a plugin larger than the simulator's size keeps its bytes, and has the checksum") {
  std::vector<std::byte> file(sim::kPluginBytes + 3, std::byte{9});
  sim::fix_checksum(file);
  CHECK(file.size() == sim::kPluginBytes + 7);
  CHECK(crc32c(ConstBytes(file)) == sim::kPluginCrc32c);
}
