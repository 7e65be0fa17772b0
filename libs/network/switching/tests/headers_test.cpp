#include "tcp_frames.hpp"
#include "weir_catch.hpp"
#include <weir/switching/headers.hpp>

namespace weir::switching {
namespace {

TEST_CASE("a frame's address and port are read") {
  const auto to = destination_of(frame_to(kFirstAddress, 4711));
  REQUIRE(to.has_value());
  CHECK(to->address == kFirstAddress);
  CHECK(to->port == 4711);
  CHECK(to->is_data);
}

TEST_CASE("an ARP request goes to the address that it asks for") {
  const auto to = destination_of(arp_for(kFirstAddress + 7));
  REQUIRE(to.has_value());
  CHECK(to->address == kFirstAddress + 7);
  CHECK_FALSE(to->is_data);
}

TEST_CASE("the later fragments of a packet have no port") {
  auto frame = frame_to(kFirstAddress, 4711);
  frame[21] = std::byte{0x10};
  const auto to = destination_of(frame);
  REQUIRE(to.has_value());
  CHECK(to->port == 0);
}

TEST_CASE("every shortened frame is malformed or has no port") {
  const auto whole = frame_to(kFirstAddress, 80, 60);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const auto to = destination_of(ConstBytes(whole).first(bytes));
    INFO(bytes);
    REQUIRE_FALSE(to.has_value());  // the packet's own length is beyond the frame
    CHECK(to.error() == HeaderError::malformed);
  }
  const auto arp = arp_for(kFirstAddress);
  CHECK_FALSE(destination_of(ConstBytes(arp).first(arp.size() - 1)).has_value());
}

TEST_CASE("other protocols and tags are refused by name") {
  auto tagged = frame_to(kFirstAddress);
  tagged[12] = std::byte{0x81};
  CHECK(destination_of(tagged).error() == HeaderError::other_protocol);
  auto later = frame_to(kFirstAddress);
  later[12] = std::byte{0x86};
  later[13] = std::byte{0xdd};
  CHECK(destination_of(later).error() == HeaderError::other_protocol);
  auto version = frame_to(kFirstAddress);
  version[14] = std::byte{0x65};
  CHECK(destination_of(version).error() == HeaderError::malformed);
}

TEST_CASE("a mark keeps the checksum right, for every kind of service") {
  for (unsigned service = 0; service < 256; ++service) {
    auto frame = frame_to(kFirstAddress, 80, 100, 0, static_cast<std::uint8_t>(service));
    REQUIRE(checks(frame));
    const bool capable = (service & 3U) != 0;
    CHECK(mark_congestion(frame) == capable);
    CHECK(checks(frame));
    CHECK(std::to_integer<unsigned>(frame[15]) == (capable ? (service | 3U) : service));
  }
}

TEST_CASE("a short frame takes the wire as long as the shortest one") {
  CHECK(wire_bytes(1514) == 1538);
  CHECK(wire_bytes(60) == 84);
  CHECK(wire_bytes(1) == 84);
}

}  // namespace
}  // namespace weir::switching
