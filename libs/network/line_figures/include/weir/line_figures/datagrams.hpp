#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace weir::line_figures {

// A numbered datagram that has arrived.
struct Arrival {
  std::uint32_t sequence = 0;  // from 0, in the order of sending
  UtcNs sent_ns = 0;           // by the sender's clock
  UtcNs arrived_ns = 0;        // by the receiver's clock
  // The receiver's own socket dropped datagrams directly before this one.
  bool after_drop = false;
};

struct DatagramCounts {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;      // each once
  std::uint64_t lost = 0;          // on the line
  std::uint64_t dropped_here = 0;  // by the receiver's socket, which was read too late
  std::uint64_t reordered = 0;     // arrived after one with a higher number (RFC 4737)
  std::uint64_t repeated = 0;

  [[nodiscard]] double lost_share() const {
    return sent > 0 ? static_cast<double>(lost) / static_cast<double>(sent) : 0;
  }
};

// Counts what became of `sent` datagrams. `arrivals`: in the order of arrival; numbers from `sent` on are
// ignored.
[[nodiscard]] DatagramCounts count_datagrams(std::span<const Arrival> arrivals, std::uint32_t sent,
                                             std::uint64_t dropped_here);

// An exchange of two datagrams. The far host's part is its own: from the arrival to the answer.
struct Echo {
  UtcNs sent_ns = 0;         // by this host's clock
  UtcNs far_arrived_ns = 0;  // by the far host's clock
  UtcNs far_sent_ns = 0;     // by the far host's clock
  UtcNs arrived_ns = 0;      // by this host's clock
};

// Returns the round trip in ns without the far host's own time; negative: a clock was set meanwhile.
[[nodiscard]] DurationNs round_trip_ns(const Echo& echo);

// Returns the least difference of the two clocks at the receiver of the answers, in ns: the transit time of
// an idle line plus the difference of the clocks. Requires: at least one echo.
[[nodiscard]] DurationNs least_transit_ns(std::span<const Echo> echoes);

}  // namespace weir::line_figures
