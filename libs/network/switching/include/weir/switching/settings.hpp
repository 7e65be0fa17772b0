#pragma once

#include <weir/switching/headers.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::switching {

// Where frames wait between the port by which they came and the one by which they leave. All of these have
// the same memory.
enum class Queueing : std::uint8_t {
  rings,           // a queue for each ring, and one for the other frames of each port
  output,          // one for each port by which frames leave
  virtual_output,  // one for each pair of ports
  fifo             // one for all frames: the first one holds up the others
};
[[nodiscard]] const char* name_of(Queueing queueing);

// The treatment of a frame without room in its queue.
enum class WhenFull : std::uint8_t {
  drop,
  hold  // it waits in the receive queue of its port, and holds up those behind it
};

struct PortSettings {
  std::string name;
  std::uint32_t transmit_frames = 0;  // that wait for the interface; others wait in their queues
  std::uint32_t receive_frames = 0;   // that wait with WhenFull::hold; further ones are dropped
  std::uint64_t bits_per_s = 0;       // the link's rate, for pauses
  bool obeys_pauses = false;
  // Above so many stored bytes that came by this port, its sender is told to pause. 0: never.
  std::uint64_t pause_bytes = 0;

  bool operator==(const PortSettings&) const = default;
};

// A queue of the frames to one DCM, and its rate.
struct FlowRing {
  std::string name;
  Address address = 0;
  std::uint16_t port = 0;  // of TCP or UDP; 0: all
  std::size_t via = 0;     // the port by which its frames leave
  std::uint32_t frames_max = 0;
  std::uint64_t bytes_max = 0;
  std::uint64_t bits_per_s = 0;  // on the wire; 0: as the port
  std::uint64_t burst_bytes = 0;
};

// Frames to an address leave by a port.
struct Route {
  Address address = 0;
  std::size_t via = 0;
};

struct SwitchSettings {
  Queueing queueing{};
  WhenFull when_full{};
  std::uint32_t frame_bytes_max = 0;
  std::uint32_t other_frames = 0;  // of each port, for frames without a ring
  std::uint32_t mark_frames = 0;   // above so many waiting frames a queue marks further ones; 0: never
  std::vector<PortSettings> ports;
  std::vector<FlowRing> rings;
  std::vector<Route> routes;  // of addresses without a ring
};

// Returns why a switch cannot have these settings, or nothing.
[[nodiscard]] std::optional<std::string> problem_of(const SwitchSettings& settings);
// Returns why a running switch cannot change to these settings, or nothing: only rings and routes may differ.
[[nodiscard]] std::optional<std::string> problem_of_change(const SwitchSettings& from,
                                                           const SwitchSettings& to);

}  // namespace weir::switching
