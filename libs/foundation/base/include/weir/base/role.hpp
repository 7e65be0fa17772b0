#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace weir {

// Role of a process in a farm, or of a client that connects to one. The numbers are those of messages (`Role`
// in proto/weir/v1/control.proto) and of the journal: never reuse one.
enum class Role : std::uint8_t {
  unknown = 0,
  readout = 1,
  dcm = 2,
  supervisor = 3,
  writer = 4,
  control = 5,  // starts, stops and watches runs
  trigger = 6   // offers external triggers
};

// Returns "readout", "dcm", …; "unknown" for any other number, which another version may send.
[[nodiscard]] constexpr std::string_view name(Role role) {
  constexpr std::string_view kNames[] = {"unknown", "readout", "dcm",    "supervisor",
                                         "writer",  "control", "trigger"};
  const auto number = static_cast<std::size_t>(role);
  return kNames[number < std::size(kNames) ? number : 0];
}

[[nodiscard]] constexpr Role role_of(std::string_view text) {
  for (std::uint8_t number = 1; number <= static_cast<std::uint8_t>(Role::trigger); ++number) {
    if (name(Role{number}) == text) return Role{number};
  }
  return Role::unknown;
}

}  // namespace weir
