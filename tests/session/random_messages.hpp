#pragma once

#include "random.hpp"
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// Random messages from a peer: mostly messages of its role with plausible numbers, and some nonsense.
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
  begun,
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
  command  // sent only where it fits: a client with control's hello is obeyed
};
constexpr auto kMessageKinds = static_cast<std::size_t>(MessageKind::command);  // that any peer may send

// Known facts about the farm under test.
struct Surroundings {
  std::string farm;
  std::uint32_t run = 1;
  std::uint64_t newest_slice = 100;
  std::vector<std::uint16_t> ports;  // ports of listeners
  struct Decided {
    std::uint64_t slice = 0;
    std::uint32_t attempt = 0;
  };
  std::vector<Decided> decided;  // attempts that a DCM reported of late
};

[[nodiscard]] v1::Hello hello(Random& random, const Surroundings& around);
// Appends one message as bytes: usually a fitting one, any kind if none fits; damaged now and then.
void append_message(Random& random, const Surroundings& around, std::span<const MessageKind> fitting,
                    std::vector<std::byte>& out);

}  // namespace weir::session_test
