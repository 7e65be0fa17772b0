#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

// Formulas for the best possible performance of a network. Used by the summary, by `weir check` and by the
// benchmarks.
namespace weir::shaping {

// Ethernet with TCP over IPv4 on it.
struct EthernetLink {
  double bits_per_s = 0;
  std::uint32_t mtu = 1500;
  bool timestamps = true;  // TCP's; 12 bytes of each segment
};

constexpr std::uint32_t kIpTcpBytes = 40;
constexpr std::uint32_t kTimestampBytes = 12;
constexpr std::uint32_t kFrameBytes = 38;    // preamble 8, header 14, checksum 4, gap 12
constexpr std::uint32_t kFrameDataMin = 46;  // a shorter one is padded

// Returns bytes of a TCP stream per byte on the wire if all segments are full: 1448 / 1538 with an MTU of
// 1500.
[[nodiscard]] double stream_share(const EthernetLink& link);

// Returns the upper bound of payload bytes per second in a stream, if every `payload` bytes come with
// `headers` bytes of the application.
[[nodiscard]] double stream_goodput(const EthernetLink& link, double payload, double headers);

// Returns the goodput by the formula of the thesis (Jereczek 2017, appendix A, A.8 to A.12): each response of
// `payload` bytes with a protocol header of `header` bytes begins a new frame, segments hold 1460 bytes, and
// every frame takes 78 more bytes on the wire. Responses gathered into full frames may exceed it.
[[nodiscard]] double thesis_goodput(double bits_per_s, double payload, double header);

// Returns the time for `bytes` of payload at `goodput` bytes per second.
[[nodiscard]] DurationNs serialisation(double bytes, double goodput);

// Bounds for the bytes in flight to a port (Jereczek 2017, eq. 4.3): below `least` the link idles, above
// `most` the port drops packets.
struct SafeWindow {
  double least = 0;  // bytes: the bandwidth-delay product
  double most = 0;   // bytes: the same plus the port's buffer
};
[[nodiscard]] SafeWindow safe_window(const EthernetLink& link, DurationNs round_trip, double buffer_bytes);

}  // namespace weir::shaping
