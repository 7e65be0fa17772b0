#include "crypto.hpp"
#include <weir/base/assert.hpp>
#include <weir/security/farm_authenticator.hpp>

#include <vector>

namespace weir::security {
namespace {

constexpr std::string_view kLabel = "weir 1 proof";

Digest mac_of(const FarmKey& key, ports::ConnectionSide sayer, const ports::Hellos& hellos) {
  std::vector<std::byte> said;
  const auto add = [&](ConstBytes bytes) { said.insert(said.end(), bytes.begin(), bytes.end()); };
  add(std::as_bytes(std::span(kLabel)));
  said.push_back(static_cast<std::byte>(sayer));
  add(sha256(hellos.connecting));
  add(sha256(hellos.listening));
  return hmac_sha256(key.secret, said);
}

}  // namespace

FarmAuthenticator::FarmAuthenticator(FarmKeys keys) : keys_(std::move(keys)) {
  WEIR_ASSERT(!keys_.keys.empty());
}

ports::Nonce FarmAuthenticator::make_nonce() const {
  ports::Nonce nonce;
  fill_random(nonce);
  return nonce;
}

ports::Proof FarmAuthenticator::prove(ports::ConnectionSide sayer, const ports::Hellos& hellos) const {
  const FarmKey& key = keys_.keys.front();
  return {key.name, mac_of(key, sayer, hellos)};
}

ports::ProofVerdict FarmAuthenticator::check(ports::ConnectionSide sayer, const ports::Hellos& hellos,
                                             const ports::Proof& proof) const {
  const FarmKey* key = keys_.find(proof.key);
  if (key == nullptr) return ports::ProofVerdict::unknown_key;
  return same_secret(mac_of(*key, sayer, hellos), proof.mac) ? ports::ProofVerdict::good
                                                             : ports::ProofVerdict::wrong;
}

std::array<std::byte, kFarmKeyBytes> derived_secret(const FarmKey& key, std::string_view purpose) {
  return hmac_sha256(key.secret, std::as_bytes(std::span(purpose)));
}

}  // namespace weir::security
