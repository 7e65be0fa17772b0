#pragma once

#include <weir/base/bytes.hpp>

#include <array>
#include <cstddef>

// The few cryptographic operations of OpenSSL that are used, with Weir's types.
namespace weir::security {

constexpr std::size_t kDigestBytes = 32;
using Digest = std::array<std::byte, kDigestBytes>;

// Throws std::runtime_error if the system has no random numbers.
void fill_random(Bytes out);
[[nodiscard]] Digest sha256(ConstBytes bytes);
[[nodiscard]] Digest hmac_sha256(ConstBytes key, ConstBytes bytes);  // RFC 2104
// Compares in constant time. Requires: equal lengths.
[[nodiscard]] bool same_secret(ConstBytes a, ConstBytes b);

}  // namespace weir::security
