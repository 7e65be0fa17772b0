#pragma once

#include <cstdint>

// Bugs planted on purpose, to check that the tests of the switch find them (tests/planted_bugs_test.cpp).
// They exist only where WEIR_SWITCH_BUGS is defined; elsewhere has_bug() is a constant and the compiler
// removes them.
namespace weir::switching {

enum class SwitchBug : std::uint8_t {
  none,
  overtake,        // a flow's new queue does not wait for the frames in its former one
  overtake_route,  // frames to an address whose ring was removed pass the frames in this ring
  forget_drop,     // frames without room are not counted
  forget_refused,  // a frame that the interface refused counts as sent, too
  ignore_pause,    // a paused port sends data
  overfill,        // a queue takes a frame more than it has room for
  forget_moved,    // frames that lose their way in a change of the table are not counted
  leave_transmit,  // frames in a transmit queue keep their port when their address moves
};
constexpr unsigned kSwitchBugs = 9;

#ifdef WEIR_SWITCH_BUGS
inline SwitchBug planted_switch_bug = SwitchBug::none;
[[nodiscard]] inline bool has_bug(SwitchBug bug) { return planted_switch_bug == bug; }
#else
[[nodiscard]] constexpr bool has_bug(SwitchBug) { return false; }
#endif

}  // namespace weir::switching
