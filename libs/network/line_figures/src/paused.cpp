#include <weir/base/assert.hpp>
#include <weir/line_figures/paused.hpp>

#include <algorithm>

namespace weir::line_figures {
namespace {

constexpr double kFewPassed = 0.02;  // of the frames that were held: under way when the pause began
constexpr double kMostPassed = 0.5;  // of all frames that arrived

PauseOutcome outcome_of(const PausedFigures& figures, bool outlasted) {
  const auto passed = static_cast<double>(figures.passed);
  const auto held = static_cast<double>(figures.held);
  if (passed > kMostPassed * (passed + held)) return PauseOutcome::not_obeyed;
  if (passed > kFewPassed * held) return PauseOutcome::interrupted;
  if (outlasted) return PauseOutcome::outlasted;
  return figures.lost > 0 ? PauseOutcome::measured : PauseOutcome::not_filled;
}

}  // namespace

PausedFigures paused_figures(std::span<const FloodPart> parts, const PauseTimes& pause,
                             const FrameSizes& sizes) {
  WEIR_ASSERT(sizes.buffered > 0 && pause.from_ns <= pause.until_ns);
  PausedFigures figures;
  bool outlasted = false;
  for (const FloodPart& part : parts) {
    const DatagramCounts counts = count_datagrams(part.arrivals, part.sent, part.dropped_here);
    figures.sent += part.sent - std::min<std::uint64_t>(part.sent, part.dropped_by_sender);
    figures.lost += counts.lost - std::min(counts.lost, part.dropped_by_sender);
    const auto passed = std::count_if(part.arrivals.begin(), part.arrivals.end(),
                                      [&](const Arrival& one) { return one.arrived_ns < pause.until_ns; });
    figures.passed += static_cast<std::uint64_t>(passed);
    // Drops of this host's socket had been in the port's buffer, too.
    figures.held +=
        counts.received - std::min(counts.received, static_cast<std::uint64_t>(passed)) + counts.dropped_here;
    outlasted = outlasted || part.last_sent_ns + part.least_transit_ns >= pause.until_ns;
  }
  figures.outcome = outcome_of(figures, outlasted);
  figures.buffer_bytes = static_cast<double>(figures.held) * sizes.buffered;
  return figures;
}

std::optional<double> largest_buffer(std::span<const PausedFigures> tries) {
  std::optional<double> largest;
  for (const PausedFigures& one : tries) {
    if (one.outcome == PauseOutcome::measured) largest = std::max(largest.value_or(0), one.buffer_bytes);
  }
  return largest;
}

}  // namespace weir::line_figures
