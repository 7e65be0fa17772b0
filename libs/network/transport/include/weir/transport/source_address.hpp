#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::transport {

// The address from which a process connects to the hosts of one network; to others it connects from any. With
// an address of its own for each process of a host, a switch can tell their data apart.
struct SourceAddress {
  std::uint32_t address = 0;  // IPv4: 10.0.0.1 is 0x0a000001
  std::uint32_t mask = 0;     // of the network's bits

  [[nodiscard]] bool is_for(std::uint32_t to) const { return ((to ^ address) & mask) == 0; }
};

// Parses "10.77.128.1/16". Returns nothing for any other text.
[[nodiscard]] std::optional<SourceAddress> parse_source(std::string_view text);

}  // namespace weir::transport
