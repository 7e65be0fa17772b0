#pragma once

#include "random.hpp"
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// What a peer may send to a node: mostly what one of its role sends, with numbers that are near the
// truth, and now and then nonsense.
namespace weir::session_test {

enum class MessageKind : std::uint8_t {
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
  block,
  data,
  hello,
  frame_of_anything,
  garbage,
  command  // only where it fits: a client with the hello of control is obeyed
};
constexpr auto kMessageKinds = static_cast<std::size_t>(MessageKind::command);  // that any peer may send

// What is known of the farm that is talked to.
struct Surroundings {
  std::string farm;
  std::uint32_t run = 1;
  std::uint64_t newest_slice = 100;
  std::vector<std::uint16_t> ports;  // of listeners
  struct Decided {
    std::uint64_t slice = 0;
    std::uint32_t attempt = 0;
  };
  std::vector<Decided> decided;  // attempts that a DCM reported of late
};

[[nodiscard]] v1::Hello hello(Random& random, const Surroundings& around);
// One message as bytes: one of the fitting ones mostly, any where there are none; damaged now and then.
void append_message(Random& random, const Surroundings& around, std::span<const MessageKind> fitting,
                    std::vector<std::byte>& out);

}  // namespace weir::session_test
