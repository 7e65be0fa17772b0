#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// How a running process is held up.
enum class Hold : std::uint8_t {
  none,
  throttled,  // it takes less, and slows down others
  blocked     // it does nothing until the cause is gone
};
constexpr std::size_t kHolds = 3;
[[nodiscard]] std::string_view name(Hold hold);  // "none", "throttled", "blocked"

// The parts of a held-up process' state: "blocked: WRITER_DISK_STALLS writer-0 for 3 s". The views refer to
// the parsed text or to other memory of the caller.
struct HeldUp {
  Hold hold = Hold::none;
  std::string_view reason;  // "WRITER_DISK_STALLS": an slice_rows::HoldReason, or one of a later version
  std::string_view cause;   // the process that causes it, anywhere in the farm; empty: the process itself
  std::string_view told;    // for people: the text behind the colon
};
// Parses a state. Returns Hold::none if the process is not held up, or if the text has another form.
[[nodiscard]] HeldUp held_up_of(std::string_view state);
// Formats a state: "throttled: READOUT_BUFFER_BYTES readout-1".
[[nodiscard]] std::string held_up_state(Hold hold, std::string_view reason, std::string_view cause);

}  // namespace weir
