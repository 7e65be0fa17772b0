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

// What both sides of one connection said first, byte by byte. Each holds a nonce of its side, so that no two
// connections have the same.
struct Hellos {
  ConstBytes connecting;
  ConstBytes listening;
};

struct Proof {
  std::string key;  // which of the farm's keys; a name, and no secret
  std::array<std::byte, kProofBytes> mac{};
};

enum class ProofVerdict : std::uint8_t { good, unknown_key, wrong };

// Shows that this process belongs to the farm, and judges whether another one does, by challenge and
// response. A proof is good for one pair of hellos and for the side that says it: neither recorded nor sent
// back nor taken over from another connection is it worth anything. Without state; calls from any thread.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // It cannot be foreseen, and does not come twice.
  [[nodiscard]] virtual Nonce make_nonce() const = 0;
  [[nodiscard]] virtual Proof prove(ConnectionSide sayer, const Hellos& hellos) const = 0;
  [[nodiscard]] virtual ProofVerdict check(ConnectionSide sayer, const Hellos& hellos,
                                           const Proof& proof) const = 0;
};

}  // namespace weir::ports
