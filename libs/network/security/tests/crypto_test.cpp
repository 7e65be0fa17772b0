#include "crypto.hpp"

#include "weir_catch.hpp"

#include <string>

namespace weir::security {
namespace {

ConstBytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string hex(const Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : digest) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 0xf];
  }
  return text;
}

}  // namespace

TEST_CASE("digests are those of the standards' examples") {
  // FIPS 180-4: "abc". RFC 4231, test cases 2 and 6 (a key longer than a block).
  CHECK(hex(sha256(bytes_of("abc"))) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(hmac_sha256(bytes_of("Jefe"), bytes_of("what do ya want for nothing?"))) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hex(hmac_sha256(bytes_of(std::string(131, '\xaa')),
                        bytes_of("Test Using Larger Than Block-Size Key - Hash Key First"))) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("secrets are the same only when every bit is") {
  Digest a = sha256(bytes_of("a"));
  Digest b = a;
  CHECK(same_secret(a, b));
  for (std::size_t bit = 0; bit < 8 * kDigestBytes; ++bit) {
    b = a;
    b[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    CHECK_FALSE(same_secret(a, b));
  }
}

TEST_CASE("random bytes are not the same twice") {
  Digest a{};
  Digest b{};
  fill_random(a);
  fill_random(b);
  CHECK(a != b);
  CHECK(a != Digest{});
}

}  // namespace weir::security
