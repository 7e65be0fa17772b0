#pragma once

#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// Planes of a farm at most.
inline constexpr std::size_t kPlanesMax = 8;

// An IPv4 network: 10.1.0.0/16 is 0x0a010000 with 16 bits.
struct Ipv4Network {
  std::uint32_t address = 0;
  unsigned bits = 0;

  [[nodiscard]] std::uint32_t mask() const { return UINT32_MAX << (32U - bits); }
  [[nodiscard]] bool contains(std::uint32_t other) const { return ((other ^ address) & mask()) == 0; }
};

// Parses "10.1.0.0/16". Returns nothing for other text, for less than 8 or more than 30 bits, and for an
// address with bits of a host.
[[nodiscard]] std::optional<Ipv4Network> parse_network(std::string_view text);
// Parses "10.1.0.7"; nothing for a name or any other text.
[[nodiscard]] std::optional<std::uint32_t> parse_ipv4(const std::string& text);

// Returns the host's address in each plane, from its address in the first: they differ only in the network.
// Empty without planes, if the address is not in the first plane, and if a network is not valid.
[[nodiscard]] std::vector<std::string> addresses_in_planes(const v1::Farm& farm, const std::string& host);

}  // namespace weir::config
