#include <weir/base/assert.hpp>
#include <weir/line_figures/datagrams.hpp>

#include <algorithm>

namespace weir::line_figures {

DatagramCounts count_datagrams(std::span<const Arrival> arrivals, std::uint32_t sent,
                               std::uint64_t dropped_here) {
  DatagramCounts counts;
  counts.sent = sent;
  std::vector<bool> seen(sent, false);
  std::uint32_t highest = 0;
  for (const Arrival& arrival : arrivals) {
    if (arrival.sequence >= sent) continue;
    if (seen[arrival.sequence]) {
      ++counts.repeated;
      continue;
    }
    seen[arrival.sequence] = true;
    ++counts.received;
    if (arrival.sequence < highest) ++counts.reordered;
    highest = std::max(highest, arrival.sequence);
  }
  const std::uint64_t gone = counts.sent - counts.received;
  counts.dropped_here = std::min(dropped_here, gone);
  counts.lost = gone - counts.dropped_here;
  return counts;
}

DurationNs round_trip_ns(const Echo& echo) {
  return (echo.arrived_ns - echo.sent_ns) - (echo.far_sent_ns - echo.far_arrived_ns);
}

DurationNs least_transit_ns(std::span<const Echo> echoes) {
  WEIR_ASSERT(!echoes.empty());
  DurationNs least = echoes.front().arrived_ns - echoes.front().far_sent_ns;
  for (const Echo& echo : echoes) least = std::min(least, echo.arrived_ns - echo.far_sent_ns);
  return least;
}

}  // namespace weir::line_figures
