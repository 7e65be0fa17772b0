#pragma once

#include <weir/base/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weir::ports {

constexpr std::size_t kNonceBytes = 32;
constexpr std::size_t kProofBytes = 32;
using Nonce = std::array<std::byte, kNonceBytes>;

enum class ConnectionSide : std::uint8_t { connecting, listening };

// The hellos of both sides of a connection, byte by byte. Each contains a nonce of its side, so that no two
// connections have the same.
struct Hellos {
  ConstBytes connecting;
  ConstBytes listening;
};

struct Proof {
  std::string key;  // which of the farm's keys; a name, not a secret
  std::array<std::byte, kProofBytes> mac{};
};

enum class ProofVerdict : std::uint8_t { good, unknown_key, wrong };

// Proves that this process belongs to the farm, and verifies a peer's proof, by challenge and response. A
// proof is valid for one pair of hellos and one side: replaying it, sending it back or using it on another
// connection has no effect. Stateless and thread-safe.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // Returns a nonce that is unpredictable and never repeated.
  [[nodiscard]] virtual Nonce make_nonce() const = 0;
  [[nodiscard]] virtual Proof prove(ConnectionSide sayer, const Hellos& hellos) const = 0;
  [[nodiscard]] virtual ProofVerdict check(ConnectionSide sayer, const Hellos& hellos,
                                           const Proof& proof) const = 0;
};

}  // namespace weir::ports
