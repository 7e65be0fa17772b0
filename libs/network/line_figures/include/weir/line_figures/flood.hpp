#pragma once

#include <weir/line_figures/datagrams.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// Estimates a port's rate, and the size of its buffer, from a flood of numbered datagrams.
namespace weir::line_figures {

// Sizes of a flood's frames in bytes.
struct FrameSizes {
  double buffered = 0;  // as a buffer counts it: with the Ethernet header, without checksum
  double on_wire = 0;   // with checksum, preamble and gap
};
// Returns the sizes of a datagram of `payload` bytes; `ip_header` is 20 or 40.
[[nodiscard]] FrameSizes frame_sizes(double payload, double ip_header);

// The part of one sender.
struct FloodPart {
  std::vector<Arrival> arrivals;    // in the order of arrival
  std::uint32_t sent = 0;           // frames
  DurationNs least_transit_ns = 0;  // of an idle line from this sender, clocks included
  UtcNs first_sent_ns = 0;          // by the sender's clock, as the next
  UtcNs last_sent_ns = 0;
  std::uint64_t dropped_by_sender = 0;  // by its own output queue
  std::uint64_t dropped_here = 0;       // by the receiver's socket
  bool held_up = false;                 // its own output queue was full most of the time
};

enum class FloodLimit : std::uint8_t {
  port,           // frames waited or were lost behind the senders
  sender_output,  // the senders' own output queues were full
  sender_cpu,     // neither: the senders could not send faster
};

struct FloodFigures {
  FloodLimit limit = FloodLimit::sender_cpu;
  double rate_bits_per_s = 0;  // on the wire, as received; at least the port's, unless `limit` is sender_cpu
  double offered_bits_per_s = 0;  // on the wire, as sent
  double longest_wait_ns = 0;     // p90 of the time that frames waited
  std::uint64_t lost = 0;         // frames
  // Bytes of frames that were in the queue when a frame got its last place: the p25 of all frames that
  // arrived before a lost one, or of all that arrived after one (the kind with the larger median), because a
  // host, relay or switch without a core makes many waits longer and few shorter. nullopt: too few of these
  // frames, or p10 and p90 so unlike that frames waited elsewhere as well.
  std::optional<double> buffer_bytes;
  std::size_t full_queues = 0;  // number of frames after a lost one
  double full_least_bytes = 0;  // p10 and p90 of the bytes by which `buffer_bytes` is judged; 0: too few
  double full_most_bytes = 0;
  // The same from the number of the first lost frame (ANTARES 2002, appendix B, method 1): frames sent until
  // then less those that the port has sent on. Too large by the bytes that the port passes on at once at its
  // start.
  std::optional<double> first_loss_bytes;
};

// The number of frames after a loss from which on `buffer_bytes` is stated.
constexpr std::size_t kFullQueuesMin = 20;

// Requires: frame sizes above 0. A part without arrivals is allowed.
[[nodiscard]] FloodFigures flood_figures(std::span<const FloodPart> parts, const FrameSizes& sizes);

}  // namespace weir::line_figures
