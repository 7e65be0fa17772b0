#include "tcp_frames.hpp"
#include "weir_catch.hpp"
#include <weir/packet_switch/checksum.hpp>

#include <random>

namespace weir::packet_switch {
namespace {

using switching::frame_to;
using switching::kFirstAddress;

std::uint32_t ones_sum(ConstBytes bytes, std::uint32_t sum) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8U : 0U);
  while (sum > 0xFFFFU) sum = (sum & 0xFFFFU) + (sum >> 16U);
  return sum;
}

// A frame of TCP with random data. Its checksum is right, or only the sum of the pseudo header.
std::vector<std::byte> random_frame(std::size_t bytes, std::mt19937& random, bool is_right) {
  auto frame = frame_to(kFirstAddress, 80, bytes, static_cast<std::uint32_t>(random()));
  for (std::size_t i = 54; i < bytes; ++i) frame[i] = static_cast<std::byte>(random());
  const ConstBytes all(frame);
  const std::uint32_t pseudo = ones_sum(all.subspan(26, 8), 6 + static_cast<std::uint32_t>(bytes) - 34);
  const std::uint32_t sum = is_right ? ~ones_sum(all.subspan(34), pseudo) : pseudo;
  frame[50] = static_cast<std::byte>(sum >> 8U);
  frame[51] = static_cast<std::byte>(sum);
  return frame;
}

TEST_CASE("a frame lacks its checksum if it has the pseudo header's only") {
  std::mt19937 random(1);
  for (std::size_t bytes = 55; bytes < 300; ++bytes) {
    CHECK_FALSE(lacks_checksum(random_frame(bytes, random, true)));
    CHECK(lacks_checksum(random_frame(bytes, random, false)));
    auto damaged = random_frame(bytes, random, false);
    damaged[51] ^= std::byte{1};  // a wrong checksum is the receiver's business
    CHECK_FALSE(lacks_checksum(damaged));
  }
}

TEST_CASE("a right checksum that equals the pseudo header's is right") {
  std::mt19937 random(2);
  const auto partial = random_frame(60, random, false);
  int equal = 0;
  int wrong = 0;
  for (int i = 0; i < 400'000; ++i) {
    const auto frame = random_frame(60, random, true);
    equal += frame[50] == partial[50] && frame[51] == partial[51] ? 1 : 0;
    wrong += lacks_checksum(frame) ? 1 : 0;
  }
  CHECK(equal > 0);
  CHECK(wrong == 0);
}

TEST_CASE("headers of any content are read within the frame") {
  std::mt19937 random(3);
  for (int i = 0; i < 100'000; ++i) {
    auto frame = random_frame(60 + random() % 30, random, false);
    for (unsigned n = 1 + random() % 4; n > 0; --n)
      frame[12 + random() % 30] = static_cast<std::byte>(random());
    frame.resize(random() % (frame.size() + 1));
    frame.shrink_to_fit();
    (void)lacks_checksum(frame);
  }
}

}  // namespace
}  // namespace weir::packet_switch
