#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/time.hpp>

#include <array>
#include <cstdint>
#include <optional>

// Pause frames of Ethernet (IEEE 802.3x, annex 31B).
namespace weir::switching {

// The length of a pause in units of 512 bits at the link's rate; 0 ends it.
using PauseQuanta = std::uint16_t;
constexpr PauseQuanta kLongestPause = UINT16_MAX;

constexpr std::size_t kPauseFrameBytes = 60;

// Returns whether the frame is for the link's control, which no switch forwards.
[[nodiscard]] bool is_link_control(ConstBytes frame);
// Returns the pause that a frame requests; nullopt: it is another one.
[[nodiscard]] std::optional<PauseQuanta> pause_in(ConstBytes frame);
[[nodiscard]] std::array<std::byte, kPauseFrameBytes> pause_frame(PauseQuanta quanta);
// Requires: `bits_per_s` > 0.
[[nodiscard]] DurationNs pause_ns(PauseQuanta quanta, std::uint64_t bits_per_s);

}  // namespace weir::switching
