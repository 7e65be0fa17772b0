#include "captured_file.hpp"
#include "weir_catch.hpp"
#include <weir/capture/pcap_reader.hpp>

#include <algorithm>
#include <array>

using namespace weir;
using namespace weir::capture;

namespace {

const std::array<std::byte, 3> kBytes{std::byte{1}, std::byte{2}, std::byte{3}};

}  // namespace

TEST_CASE("a segment is read with its time, ends, number and payload") {
  CapturedFile file;
  file.tcp(true, 7000, 40000, 99, kBytes);
  file.tcp(false, 40000, 7000, 5, {}, 0x12);
  auto reader = PcapReader::open(file.bytes);
  REQUIRE(reader.has_value());
  const auto first = reader->next();
  REQUIRE(first.has_value());
  CHECK(first->utc_ns == 1'700'000'000 * kSecond);
  CHECK(to_text(first->from) == "10.0.0.1:7000");
  CHECK(to_text(first->to) == "10.0.0.2:40000");
  CHECK(first->sequence == 99);
  CHECK_FALSE(first->begins);
  CHECK(std::ranges::equal(first->payload, kBytes));
  const auto second = reader->next();
  REQUIRE(second.has_value());
  CHECK(second->utc_ns == 1'700'000'000 * kSecond + kMillisecond);
  CHECK(second->begins);
  CHECK(second->sequence == 6);  // the SYN takes one number
  CHECK_FALSE(reader->next().has_value());
  CHECK(reader->skipped() == 0);
}

TEST_CASE("raw IP packets are read like Ethernet frames") {
  constexpr std::uint32_t kRaw = 101;
  CapturedFile file(kRaw);
  file.tcp(true, 1, 2, 3, kBytes);
  auto reader = PcapReader::open(file.bytes);
  REQUIRE(reader.has_value());
  const auto segment = reader->next();
  REQUIRE(segment.has_value());
  CHECK(std::ranges::equal(segment->payload, kBytes));
}

TEST_CASE("packets that are not TCP, and a truncated last one, are counted as skipped") {
  CapturedFile file;
  file.add(kBytes);
  file.tcp(true, 1, 2, 3, kBytes);
  file.bytes.pop_back();
  auto reader = PcapReader::open(file.bytes);
  REQUIRE(reader.has_value());
  CHECK_FALSE(reader->next().has_value());
  CHECK(reader->skipped() == 2);
}

TEST_CASE("a file of another format is refused with the remedy") {
  const auto problem = [](std::vector<std::byte> bytes) { return PcapReader::open(bytes).error(); };
  CHECK_THAT(problem(std::vector<std::byte>(4)), Catch::ContainsSubstring("too short"));
  CHECK_THAT(problem(std::vector<std::byte>(64)), Catch::ContainsSubstring("tcpdump -w"));
  std::vector<std::byte> pcapng(64);
  for (const std::size_t at : {1, 2}) pcapng[at] = std::byte{0x0d};
  pcapng[0] = pcapng[3] = std::byte{0x0a};
  CHECK_THAT(problem(pcapng), Catch::ContainsSubstring("editcap -F pcap"));
  constexpr std::uint32_t kUsb = 189;
  CHECK_THAT(problem(CapturedFile(kUsb).bytes), Catch::ContainsSubstring("link type 189"));
}

TEST_CASE("an IPv6 address is written in brackets") {
  CapturedEndpoint loopback;
  loopback.is_v6 = true;
  loopback.address[15] = std::byte{1};
  loopback.port = 80;
  CHECK(to_text(loopback) == "[0:0:0:0:0:0:0:1]:80");
}
