#include "crypto.hpp"

#include <weir/base/assert.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <limits>
#include <stdexcept>

namespace weir::security {
namespace {

const unsigned char* octets(ConstBytes bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

}  // namespace

void fill_random(Bytes out) {
  WEIR_ASSERT(out.size() <= std::numeric_limits<int>::max());
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(out.size())) == 1) return;
  throw std::runtime_error("the system returned no random numbers, which keys and proofs need");
}

Digest sha256(ConstBytes bytes) {
  Digest digest;
  ::SHA256(octets(bytes), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

Digest hmac_sha256(ConstBytes key, ConstBytes bytes) {
  Digest mac;
  unsigned size = 0;
  const auto* made = ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), octets(bytes),
                            bytes.size(), reinterpret_cast<unsigned char*>(mac.data()), &size);
  WEIR_ASSERT(made != nullptr && size == mac.size());
  return mac;
}

bool same_secret(ConstBytes a, ConstBytes b) {
  WEIR_ASSERT(a.size() == b.size());
  return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace weir::security
