// The bytes of packets on the wire. They never change within a version.
#include "packet_bytes.hpp"
#include "weir_catch.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using namespace weir;
using namespace weir::packets;
using namespace weir::packets::test;

namespace {

constexpr Stamp kStamp{true, true, 0x1112131415161718, 0x2122232425262728, 1000};

struct Golden {
  const char* name;
  std::vector<std::byte> bytes;
};

std::vector<Golden> all_golden() {
  Packet packet;
  packet.run = RunNumber(42);
  packet.source = SourceId(1003);
  packet.slice = SliceId(0x0102030405060708);
  packet.sequence = 0x11223344;
  packet.total = 14;
  packet.closes = true;
  Packet part = packet;
  part.checksummed = false;
  part.closes = false;
  part.truncated = true;
  part.total = 1000;
  part.offset = 500;
  Packet mark = packet;
  mark.type = PacketType::mark;
  mark.closes = false;
  mark.total = 0;
  Packet lives = packet;
  lives.session = 0xa1b2c3d4;
  Packet stamped = packet;
  stamped.stamp = kStamp;
  return {{"stamped.bin", datagram(stamped, "a whole packet")},
          {"session.bin", datagram(lives, "a whole packet")},
          {"whole.bin", datagram(packet, "a whole packet")},
          {"part.bin", datagram(part, "a part")},
          {"mark.bin", datagram(mark, "")}};
}

std::vector<std::byte> read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  INFO(path);
  REQUIRE(file);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return bytes_of(text);
}

}  // namespace

TEST_CASE("packets have the bytes that FORMAT.md says, and that were committed") {
  for (const Golden& golden : all_golden()) {
    INFO(golden.name);
    const auto committed = read(std::filesystem::path(WEIR_TEST_SOURCE_DIR) / "tests/golden" / golden.name);
    CHECK(golden.bytes == committed);
    const auto packet = parse(committed);
    REQUIRE(packet);
    CHECK(packet->stamp == (std::string_view(golden.name) == "stamped.bin" ? kStamp : Stamp{}));
    CHECK(packet->session == (std::string_view(golden.name) == "session.bin" ? 0xa1b2c3d4 : 0));
  }
}
