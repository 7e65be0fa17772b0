#include "weir_catch.hpp"
#include <weir/security/farm_authenticator.hpp>

#include <string>

namespace weir::security {

using ports::ConnectionSide;
using ports::ProofVerdict;

namespace {

ConstBytes bytes_of_text(const std::string& text) { return std::as_bytes(std::span(text)); }

struct Both {
  std::string connecting = "hello, I am dcm-1";
  std::string listening = "hello, I am readout-3";
  [[nodiscard]] ports::Hellos hellos() const { return {bytes_of_text(connecting), bytes_of_text(listening)}; }
};

}  // namespace

TEST_CASE("a proof is valid for its side and its hellos only") {
  const FarmAuthenticator farm({{make_farm_key("k")}});
  const Both said;
  const ConnectionSide side = GENERATE(ConnectionSide::connecting, ConnectionSide::listening);
  const ConnectionSide other =
      side == ConnectionSide::connecting ? ConnectionSide::listening : ConnectionSide::connecting;
  const ports::Proof proof = farm.prove(side, said.hellos());
  CHECK(farm.check(side, said.hellos(), proof) == ProofVerdict::good);
  CHECK(farm.check(other, said.hellos(), proof) == ProofVerdict::wrong);
  CHECK(farm.check(side, Both{said.listening, said.connecting}.hellos(), proof) == ProofVerdict::wrong);
  CHECK(farm.check(side, Both{said.connecting + "x", said.listening}.hellos(), proof) == ProofVerdict::wrong);
  CHECK(farm.check(side, Both{said.connecting, said.listening + "x"}.hellos(), proof) == ProofVerdict::wrong);
  // A different split of the two sides' data gives a different proof, even if the joined bytes are the same.
  CHECK(farm.check(side,
                   Both{said.connecting + said.listening.substr(0, 1), said.listening.substr(1)}.hellos(),
                   proof) == ProofVerdict::wrong);
  for (std::size_t bit = 0; bit < 8 * ports::kProofBytes; ++bit) {
    ports::Proof altered = proof;
    altered.mac[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    CHECK(farm.check(side, said.hellos(), altered) == ProofVerdict::wrong);
  }
}

TEST_CASE("a farm during a change of keys stays one farm") {
  const FarmKey old = make_farm_key("old");
  const FarmKey fresh = make_farm_key("fresh");
  const FarmAuthenticator before({{old}});
  const FarmAuthenticator added({{old, fresh}});
  const FarmAuthenticator used({{fresh, old}});
  const FarmAuthenticator after({{fresh}});
  const Both said;
  const auto takes = [&](const FarmAuthenticator& judge, const FarmAuthenticator& sayer) {
    return judge.check(ConnectionSide::connecting, said.hellos(),
                       sayer.prove(ConnectionSide::connecting, said.hellos()));
  };
  const auto both = [&](const FarmAuthenticator& a, const FarmAuthenticator& b) {
    return takes(a, b) == ProofVerdict::good && takes(b, a) == ProofVerdict::good;
  };
  CHECK(both(before, added));
  CHECK(both(added, used));
  CHECK(both(used, after));
  CHECK(takes(after, before) == ProofVerdict::unknown_key);
  CHECK(takes(before, after) == ProofVerdict::unknown_key);
}

TEST_CASE("another secret of the same name proves nothing") {
  const FarmAuthenticator one({{make_farm_key("k")}});
  const FarmAuthenticator other({{make_farm_key("k")}});
  const Both said;
  CHECK(one.check(ConnectionSide::listening, said.hellos(),
                  other.prove(ConnectionSide::listening, said.hellos())) == ProofVerdict::wrong);
}

TEST_CASE("nonces differ, and secrets derived for different purposes too") {
  const FarmKey key = make_farm_key("k");
  const FarmAuthenticator farm({{key}});
  CHECK(farm.make_nonce() != farm.make_nonce());
  CHECK(derived_secret(key, "a") != derived_secret(key, "b"));
  CHECK(derived_secret(key, "a") != key.secret);
}

}  // namespace weir::security
