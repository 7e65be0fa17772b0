#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/base/crc32c_combine.hpp>

#include <array>
#include <string_view>
#include <vector>

namespace weir {
namespace {

ConstBytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// Computes CRC32C bit by bit from the reflected polynomial 0x1edc6f41.
std::uint32_t slow_crc32c(ConstBytes bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? (crc >> 1) ^ 0x82f63b78U : crc >> 1;
  }
  return ~crc;
}

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

}  // namespace

TEST_CASE("CRC32C gives the values of RFC 3720, B.4") {
  std::array<std::byte, 32> bytes{};
  CHECK(crc32c(bytes) == 0x8a9136aa);
  bytes.fill(std::byte{0xff});
  CHECK(crc32c(bytes) == 0x62a8ab43);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  CHECK(crc32c(bytes) == 0x46dd794e);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(31 - i);
  CHECK(crc32c(bytes) == 0x113fdb5c);

  std::array<std::byte, 48> read_command{};  // an iSCSI SCSI Read (10) command PDU
  read_command[0] = std::byte{0x01};
  read_command[1] = std::byte{0xc0};
  read_command[16] = std::byte{0x14};
  read_command[22] = std::byte{0x04};
  read_command[27] = std::byte{0x14};
  read_command[31] = std::byte{0x18};
  read_command[32] = std::byte{0x28};
  read_command[40] = std::byte{0x02};
  CHECK(crc32c(read_command) == 0xd9963a56);
}

TEST_CASE("CRC32C gives the check value of the digits, and zero for no data") {
  CHECK(crc32c(bytes_of("123456789")) == 0xe3069283);
  CHECK(crc32c({}) == 0);
}

TEST_CASE("CRC32C agrees with its polynomial at every length and alignment") {
  const auto bytes = counting(400);
  for (std::size_t begin = 0; begin < 9; ++begin) {
    for (std::size_t size = 0; size < 300; ++size) {
      const ConstBytes part = ConstBytes(bytes).subspan(begin, size);
      if (crc32c(part) != slow_crc32c(part)) FAIL("begin " << begin << ", size " << size);
    }
  }
}

TEST_CASE("CRC32C continues from any cut") {
  const auto bytes = counting(1000);
  const std::uint32_t whole = crc32c(bytes);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const std::uint32_t begun = crc32c(ConstBytes(bytes).first(cut));
    if (crc32c_extend(begun, ConstBytes(bytes).subspan(cut)) != whole) FAIL("cut at " << cut);
  }
}

TEST_CASE("CRC32C of two parts is combined from theirs at any length, and for lengths that no memory has") {
  const auto bytes = counting(100'000);
  for (std::size_t cut = 0; cut <= 1000; ++cut) {
    for (const std::size_t rest : {std::size_t{0}, std::size_t{1}, cut, std::size_t{65'536}, 99'000 - cut}) {
      const std::uint32_t a = crc32c(ConstBytes(bytes).first(cut));
      const std::uint32_t b = crc32c(ConstBytes(bytes).subspan(cut, rest));
      if (crc32c_combine(a, b, rest) != crc32c(ConstBytes(bytes).first(cut + rest)))
        FAIL("cut at " << cut << ", " << rest << " bytes follow");
    }
  }
  // 2^36 zeros, twice as many as 2^35 and 2^35.
  const std::uint32_t begin = crc32c(bytes_of("123456789"));
  std::uint32_t zeros = crc32c(ConstBytes(std::vector<std::byte>(1024)));
  for (std::uint64_t length = 1024; length < 1ULL << 36U; length *= 2)
    zeros = crc32c_combine(zeros, zeros, length);
  std::uint32_t half = crc32c(ConstBytes(std::vector<std::byte>(1024)));
  for (std::uint64_t length = 1024; length < 1ULL << 35U; length *= 2)
    half = crc32c_combine(half, half, length);
  CHECK(crc32c_combine(begin, zeros, 1ULL << 36U) ==
        crc32c_combine(crc32c_combine(begin, half, 1ULL << 35U), half, 1ULL << 35U));
}

}  // namespace weir
