#pragma once

#include <weir/ports/authenticator.hpp>
#include <weir/security/keys.hpp>

namespace weir::security {

// Proofs from the keys of a farm: HMAC-SHA256 with the farm key over
//   "weir 1 proof" | side (1 byte: 0 connecting, 1 listening) | SHA-256(connecting hello) | SHA-256(listening
//   hello).
// Proves with the first key, accepts any.
class FarmAuthenticator final : public ports::Authenticator {
 public:
  // Requires: at least one key.
  explicit FarmAuthenticator(FarmKeys keys);

  [[nodiscard]] ports::Nonce make_nonce() const override;
  [[nodiscard]] ports::Proof prove(ports::ConnectionSide sayer, const ports::Hellos& hellos) const override;
  [[nodiscard]] ports::ProofVerdict check(ports::ConnectionSide sayer, const ports::Hellos& hellos,
                                          const ports::Proof& proof) const override;

 private:
  FarmKeys keys_;
};

// Returns a secret for another purpose that does not reveal the farm key: HMAC-SHA256 over the purpose.
[[nodiscard]] std::array<std::byte, kFarmKeyBytes> derived_secret(const FarmKey& key,
                                                                  std::string_view purpose);

}  // namespace weir::security
