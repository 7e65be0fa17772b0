#pragma once

#include <weir/switching/settings.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace weir::switching {

// The static table from destinations to ports and rings.
class FlowTable {
 public:
  static constexpr std::size_t kNoRing = SIZE_MAX;

  struct Target {
    std::size_t via = 0;
    std::size_t ring = kNoRing;
  };

  // Returns a number for each pair of address and port.
  [[nodiscard]] static std::uint64_t key(Address address, std::uint16_t port) {
    return (std::uint64_t{address} << 16U) | port;
  }

  // Requires: problem_of(settings) is empty.
  explicit FlowTable(const SwitchSettings& settings);

  // Returns the ring of address and port, else the ring of the address, else its route. ARP frames take the
  // way of the address that they ask for, outside its ring.
  [[nodiscard]] std::optional<Target> find(const FrameDestination& to) const;

 private:
  std::unordered_map<std::uint64_t, Target> targets_;
  bool by_port_ = false;  // a ring is of one port
};

}  // namespace weir::switching
