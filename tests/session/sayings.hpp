#pragma once

#include "dice.hpp"
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// What somebody may say to a node: mostly what a peer of some role says, with numbers that are near the
// truth, and now and then nonsense.
namespace weir::session_test {

enum class Saying : std::uint8_t {
  assign,
  decide,
  confirm,
  announce,
  clear,
  settled,
  directory,
  destinations,
  report,
  throttle,
  space,
  grant,
  refused,
  trigger,
  port_share,
  begin_run,  // control messages up to here
  request,
  cancel,
  stored,
  fragment,
  data,
  hello,
  frame_of_anything,
  garbage,
  command  // only where it fits: anybody who says it with a hello of control is obeyed
};
constexpr std::size_t kSayings = 23;  // that anybody may say

// What is known of the farm that is talked to.
struct Surroundings {
  std::string farm;
  std::uint32_t run = 1;
  std::uint64_t newest_slice = 100;
  std::vector<std::uint16_t> ports;  // of doors
  struct Decided {
    std::uint64_t slice = 0;
    std::uint32_t attempt = 0;
  };
  std::vector<Decided> decided;  // attempts that a DCM reported of late
};

[[nodiscard]] v1::Hello hello(Dice& dice, const Surroundings& around);
// One saying as bytes: one of the fitting ones mostly, any where there are none; damaged now and then.
void append_saying(Dice& dice, const Surroundings& around, std::span<const Saying> fitting,
                   std::vector<std::byte>& out);

}  // namespace weir::session_test
