#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::switching {

enum class FrameDrop : std::uint8_t {
  malformed,       // no valid headers
  other_protocol,  // neither IPv4 nor ARP, or with a tag
  no_checksum,     // its sender left the checksum to a card that does not exist
  too_long,        // longer than frame_bytes_max
  no_route,        // no port leads to its destination
  same_port,       // its destination is behind the port by which it came
  queue_full,      // no room in its queue
  receive_full,    // no room in the receive queue of its port
  refused          // the interface did not take it
};
constexpr std::size_t kFrameDrops = 9;
[[nodiscard]] const char* name_of(FrameDrop reason);

// Frames and bytes since the switch began, without preamble, checksum and gap.
struct SwitchPortCounters {
  std::uint64_t received = 0;  // frames, link control too
  std::uint64_t received_bytes = 0;
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;
  std::array<std::uint64_t, kFrameDrops> dropped{};  // by the port where they came in
  std::uint64_t dropped_ahead = 0;                   // of frames that would have left by this port
  std::uint64_t link_control = 0;                    // frames to the switch itself, such as pauses
  std::uint64_t pauses_sent = 0;                     // and ends of pauses
  std::uint64_t pauses = 0;                          // that the link's other end began
  std::int64_t paused_ns = 0;                        // in which the link's other end wanted no frames
  std::uint64_t waiting = 0;                         // frames now in the switch that will leave by this port
  std::uint64_t waiting_bytes = 0;
};

struct RingCounters {
  std::uint64_t frames = 0;  // that left
  std::uint64_t bytes = 0;
  std::uint64_t dropped = 0;
  std::uint64_t marked = 0;
  std::uint64_t waiting = 0;  // now
  std::uint64_t waiting_bytes = 0;
  std::uint64_t waiting_most = 0;  // at once, since the switch began, or since Switch::begin_period()
  std::uint64_t waiting_bytes_most = 0;
};

}  // namespace weir::switching
