#pragma once

#include <weir/switching/switch.hpp>

#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace weir::switching {

// Random frames in and out of a switch, and random changes of its table, with its promises checked after each
// step. Throws std::runtime_error with the broken promise.
class RandomTraffic {
 public:
  explicit RandomTraffic(std::uint32_t seed);

  void step();
  // Ends all pauses and empties the switch.
  void drain();

 private:
  std::uint32_t draw(unsigned below) { return static_cast<std::uint32_t>(random_() % below); }
  [[nodiscard]] SwitchSettings random_settings();
  void arrive();
  void pause(std::size_t port);
  void change();
  void send(std::size_t port, std::size_t most);
  void check_order(ConstBytes frame);
  void check();

  std::mt19937 random_;
  std::vector<FlowRing> rings_;  // all that the switch may have
  std::vector<std::uint64_t> ring_limits_;
  Switch machine_;
  TimeNs now_ = 0;
  bool changed_ = false;
  std::vector<TimeNs> paused_until_ns_;
  std::map<std::pair<std::size_t, Address>, std::uint32_t> numbers_;
  std::map<std::pair<std::size_t, Address>, std::uint32_t> seen_;
};

}  // namespace weir::switching
