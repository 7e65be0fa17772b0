#pragma once

#include "tcp_frames.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace weir::system_test {

// A frame for tests, and its fate in a switch: the reason of its drop, "control", "forwarded", or "unknown":
// malformed or no_route.
struct GarbageFrame {
  std::string fate;
  std::vector<std::byte> bytes;
};

// Makes frames from a seed. Each goes to `victim`, an address with a ring, unless its kind says otherwise; it
// pretends to come from `spoofed`. `own` is the sender's address.
class GarbageFrames {
 public:
  GarbageFrames(std::uint32_t seed, switching::Address victim, switching::Address spoofed,
                switching::Address own)
      : random_(seed), victim_(victim), spoofed_(spoofed), own_(own) {}

  // Returns `rounds` frames of each kind, in random order.
  [[nodiscard]] std::vector<GarbageFrame> make(int rounds);

 private:
  using Frame = std::vector<std::byte>;
  std::uint32_t draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  [[nodiscard]] Frame to(switching::Address address, std::size_t bytes);
  [[nodiscard]] Frame random_frame(std::uint16_t type);
  void add_lengths(std::vector<GarbageFrame>& all);
  void add_destinations(std::vector<GarbageFrame>& all);
  void add_protocols(std::vector<GarbageFrame>& all);
  void add_controls(std::vector<GarbageFrame>& all);

  std::mt19937 random_;
  switching::Address victim_;
  switching::Address spoofed_;
  switching::Address own_;
};

}  // namespace weir::system_test
