#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>

#include <cstdint>

// The headers of a frame that a switch reads: Ethernet II with IPv4 or ARP, without tags.
namespace weir::switching {

// An IPv4 address as a number: 10.0.0.1 is 0x0a000001.
using Address = std::uint32_t;

constexpr std::size_t kEthernetHeaderBytes = 14;

enum class HeaderError : std::uint8_t {
  malformed,      // shorter than its headers, or lengths that contradict each other
  other_protocol  // neither IPv4 nor ARP, or with a tag
};

struct FrameDestination {
  Address address = 0;
  std::uint16_t port = 0;  // of TCP or UDP; 0: unknown
  bool is_data = false;    // IPv4; otherwise an ARP frame, whose target is `address`
};

// Reads the destination of a frame.
[[nodiscard]] Expected<FrameDestination, HeaderError> destination_of(ConstBytes frame);

// Marks the frame as "congestion experienced" and corrects its checksum (RFC 3168, RFC 1624). Returns false
// if its sender does not use marks. Requires: destination_of() returned data.
bool mark_congestion(Bytes frame);

// Returns the bytes that a frame takes on the wire: with checksum, preamble and gap.
[[nodiscard]] std::uint64_t wire_bytes(std::size_t frame_bytes);

}  // namespace weir::switching
