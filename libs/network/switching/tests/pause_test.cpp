#include "tcp_frames.hpp"
#include "weir_catch.hpp"
#include <weir/switching/pause.hpp>

namespace weir::switching {
namespace {

TEST_CASE("a pause frame has the bytes of the standard") {
  const auto frame = pause_frame(0x1234);
  const std::uint8_t begin[] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
  for (std::size_t i = 0; i < sizeof begin; ++i) CHECK(std::to_integer<unsigned>(frame[i]) == begin[i]);
  const std::uint8_t body[] = {0x88, 0x08, 0x00, 0x01, 0x12, 0x34};
  for (std::size_t i = 0; i < sizeof body; ++i) CHECK(std::to_integer<unsigned>(frame[12 + i]) == body[i]);
  CHECK(is_link_control(frame));
  CHECK(pause_in(frame) == PauseQuanta{0x1234});
}

TEST_CASE("other control frames and data request no pause") {
  auto other = pause_frame(5);
  other[15] = std::byte{2};
  CHECK(is_link_control(other));
  CHECK_FALSE(pause_in(other).has_value());
  auto elsewhere = pause_frame(5);
  elsewhere[5] = std::byte{2};
  CHECK_FALSE(pause_in(elsewhere).has_value());
  CHECK_FALSE(pause_in(ConstBytes(pause_frame(5)).first(17)).has_value());
  CHECK_FALSE(is_link_control(frame_to(kFirstAddress)));
}

TEST_CASE("the longest pause at 1 Gb/s is 33.55 ms") {
  CHECK(pause_ns(kLongestPause, 1'000'000'000) == 33'553'920);
  CHECK(pause_ns(0, 1'000'000'000) == 0);
}

}  // namespace
}  // namespace weir::switching
