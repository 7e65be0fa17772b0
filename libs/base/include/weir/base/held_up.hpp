#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// That something holds a running process up.
enum class Hold : std::uint8_t {
  none,
  throttled,  // it takes less, and makes others wait
  blocked     // it does nothing until that is over
};
constexpr std::size_t kHolds = 3;
[[nodiscard]] std::string_view name(Hold hold);  // "none", "throttled", "blocked"

// What a running process says of it as its state: "blocked: WRITER_DISK_STALLS writer-0 for 3 s". The views
// are into the text, or whatever else it is made of.
struct HeldUp {
  Hold hold = Hold::none;
  std::string_view reason;  // "WRITER_DISK_STALLS": assignment::Reason, and what later versions add
  std::string_view cause;   // the process that is the cause, any of the farm's; empty: itself
  std::string_view told;    // for people: all that is behind the colon
};
// Of a state in which nothing holds the process up, or that is not of this form, there is no hold.
[[nodiscard]] HeldUp held_up_of(std::string_view state);
// "throttled: READOUT_BUFFER_BYTES readout-1"
[[nodiscard]] std::string held_up_state(Hold hold, std::string_view reason, std::string_view cause);

}  // namespace weir
