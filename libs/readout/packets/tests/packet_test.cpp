#include "broken_invariant.hpp"
#include "packet_bytes.hpp"
#include "weir_catch.hpp"

#include <algorithm>

using namespace weir;
using namespace weir::packets;
using namespace weir::packets::test;

namespace {

Packet part(std::uint32_t offset = 10, std::uint32_t total = 20) {
  Packet packet;
  packet.run = RunNumber(3);
  packet.source = SourceId(7);
  packet.slice = SliceId(0x0102030405060708);
  packet.sequence = 99;
  packet.offset = offset;
  packet.total = total;
  return packet;
}

PacketError error_of(const std::vector<std::byte>& bytes) {
  const auto packet = parse(bytes);
  REQUIRE_FALSE(packet);
  return packet.error();
}

// Has no checksum, so that a single field can be wrong.
std::vector<std::byte> unchecked() {
  Packet packet = part();
  packet.checksummed = false;
  return datagram(packet, "abc");
}

}  // namespace

TEST_CASE("a packet is read back from its bytes") {
  Packet packet = part();
  packet.truncated = packet.closes = true;
  const auto bytes = datagram(packet, "payload");
  const auto back = parse(bytes);
  REQUIRE(back);
  CHECK(back->type == PacketType::data);
  CHECK(back->checksummed);
  CHECK(back->truncated);
  CHECK(back->closes);
  CHECK(back->run == RunNumber(3));
  CHECK(back->source == SourceId(7));
  CHECK(back->slice == SliceId(0x0102030405060708));
  CHECK(back->sequence == 99);
  CHECK(back->offset == 10);
  CHECK(back->total == 20);
  CHECK(std::equal(back->payload.begin(), back->payload.end(), bytes.begin() + kHeaderBytes));
}

TEST_CASE("a stamped packet is read back, and an older reader of 48 bytes finds its payload") {
  for (const Stamp& stamp : {Stamp{true, false, UINT64_MAX, 0, 0}, Stamp{false, true, 0, -5, 7},
                             Stamp{true, true, 3, INT64_MIN, INT64_MAX}}) {
    Packet packet = part();
    packet.stamp = stamp;
    const auto bytes = datagram(packet, "payload");
    CHECK(load_le<std::uint16_t>(bytes.data() + 6) == kStampedHeaderBytes);
    const auto back = parse(bytes);
    REQUIRE(back);
    CHECK(back->stamp == stamp);
    CHECK(back->payload.size() == 7);
    CHECK(back->payload[0] == std::byte{'p'});
  }
}

TEST_CASE("a header with half of a stamp, or with fields of later revisions behind it, is read") {
  auto half = unchecked();
  half.insert(half.begin() + kHeaderBytes, 24, std::byte{0xff});
  store_le<std::uint16_t>(half.data() + 6, kHeaderBytes + 24);
  const auto without = parse(half);
  REQUIRE(without);
  CHECK_FALSE(without->stamp.any());
  Packet packet = part();
  packet.checksummed = false;
  packet.stamp = {true, false, 9, 0, 0};
  auto longer = datagram(packet, "abc");
  longer.insert(longer.begin() + kStampedHeaderBytes, 8, std::byte{0xee});
  store_le<std::uint16_t>(longer.data() + 6, kStampedHeaderBytes + 8);
  longer[48] |= std::byte{0x80};  // a bit of a later revision
  const auto with = parse(longer);
  REQUIRE(with);
  CHECK(with->stamp == packet.stamp);
  CHECK(with->payload.size() == 3);
}

TEST_CASE("any changed byte of a checksummed packet is found") {
  const auto good = datagram(part(), "payload");
  for (std::size_t at = 0; at < good.size(); ++at) {
    auto bad = good;
    bad[at] ^= std::byte{0x40};
    INFO(at);
    CHECK_FALSE(parse(bad));
  }
}

TEST_CASE("a header that later revisions made longer is read, and its payload found") {
  auto bytes = unchecked();
  bytes.insert(bytes.begin() + kHeaderBytes, 8, std::byte{0xee});
  store_le<std::uint16_t>(bytes.data() + 6, kHeaderBytes + 8);
  const auto packet = parse(bytes);
  REQUIRE(packet);
  CHECK(packet->payload.size() == 3);
  CHECK(packet->payload[0] == std::byte{'a'});
}

TEST_CASE("a malformed packet is rejected with the error found") {
  auto bytes = unchecked();
  CHECK(error_of({bytes.begin(), bytes.begin() + 47}) == PacketError::too_short);
  CHECK(error_of({}) == PacketError::too_short);
  const auto with = [&](std::size_t at, std::byte value) {
    auto changed = unchecked();
    changed[at] = value;
    return error_of(changed);
  };
  CHECK(with(0, std::byte{'X'}) == PacketError::bad_magic);
  CHECK(with(4, std::byte{2}) == PacketError::bad_version);
  CHECK(with(5, std::byte{3}) == PacketError::bad_type);
  CHECK(with(6, std::byte{47}) == PacketError::bad_header_length);
  CHECK(with(6, std::byte{60}) == PacketError::bad_header_length);  // longer than the datagram
  CHECK(with(36, std::byte{0x80}) == PacketError::bad_flags);
  CHECK(with(32, std::byte{18}) == PacketError::bad_part);    // 18 + 3 > 20
  CHECK(with(35, std::byte{0xff}) == PacketError::bad_part);  // an offset that overflows
}

TEST_CASE("an empty part is good as a whole empty fragment alone, a mark only without bytes") {
  CHECK(parse(datagram(part(0, 0), "")));
  auto empty = unchecked();
  empty.resize(kHeaderBytes);
  CHECK(error_of(empty) == PacketError::bad_part);
  Packet mark = part(0, 0);
  mark.type = PacketType::mark;
  CHECK(parse(datagram(mark, "")));
  auto loaded = unchecked();
  loaded[5] = std::byte{2};
  CHECK(error_of(loaded) == PacketError::bad_part);
}

TEST_CASE("a packet is a part of its fragment") {
  const auto broken = [] { (void)datagram(part(18, 20), "abc"); };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: good_part(packet)"));
}
