#pragma once

#include <weir/line_figures/flood.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// Estimates a port's buffer from a flood during which the port was paused (IEEE 802.3x): frames that arrive
// after the pause were in the buffer. Method 2 of the ANTARES thesis (2002, appendix B).
namespace weir::line_figures {

// The time in which the port was asked to send nothing, by the receiver's clock.
struct PauseTimes {
  UtcNs from_ns = 0;
  UtcNs until_ns = 0;
};

enum class PauseOutcome : std::uint8_t {
  measured,
  not_obeyed,   // most frames arrived during the pause
  interrupted,  // some did, so the port was not paused all the time
  outlasted,    // frames were sent after the pause
  not_filled    // no frame was lost
};

struct PausedFigures {
  PauseOutcome outcome = PauseOutcome::not_filled;
  std::uint64_t sent = 0;    // frames that left the senders
  std::uint64_t passed = 0;  // frames that arrived during the pause
  std::uint64_t held = 0;    // frames that arrived after it
  std::uint64_t lost = 0;    // frames that the line dropped
  double buffer_bytes = 0;   // of the frames that were held
};

// Requires: frame sizes above 0.
[[nodiscard]] PausedFigures paused_figures(std::span<const FloodPart> parts, const PauseTimes& pause,
                                           const FrameSizes& sizes);

// Returns the largest buffer of the tries that measured one, as the thesis does: each is a lower bound.
[[nodiscard]] std::optional<double> largest_buffer(std::span<const PausedFigures> tries);

}  // namespace weir::line_figures
