#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace weir::packet_model {

constexpr std::uint32_t kSegmentBytes = 1448;     // payload of a full frame, with TCP's timestamps
constexpr std::uint32_t kFrameOverhead = 90;      // on the wire beside it
constexpr std::uint32_t kUncountedOverhead = 24;  // part of the overhead that Linux does not count in a queue
constexpr double kStreamBound = 1448.0 / 1538;

// When a host's process runs. The kernel always does.
struct Cpu {
  double wake_us = 5;     // a wake-up takes, mean
  double late_share = 0;  // share of wake-ups that wait for a core
  double late_ms = 0;     // mean duration of that wait
  double slice_ms = 0;    // longest uninterrupted run before a wait; 0: unlimited
  double pause_ms = 0;    // does not run at all
  double pause_every_ms = 500;
  double request_us = 1;  // each request costs
};

struct TcpSpec {
  bool slow_start_after_idle = true;
  bool selective = true;  // SACK, RACK and tail loss probes
};

struct RateFrom {
  TimeNs from_ns = 0;
  double bits_per_s = 0;
};

struct LinkSpec {
  std::vector<RateFrom> rates;  // in ascending order; the first begins at 0
  double buffer_bytes = 0;      // 0: never drops
  double burst_bytes = 0;       // bytes that may leave without delay after a pause, as with tbf
  double loss = 0;              // share of packets, regardless of the queue
};

enum class Spread : std::uint8_t { fixed, uniform, exponential };

struct ReadoutSpec {
  double uplink_bits_per_s = 1e9;
  DurationNs round_trip_ns = 60 * kMicrosecond;
  bool over_line = false;
  double bytes = 65536;  // mean bytes of a slice
  Spread spread = Spread::fixed;
  Cpu cpu;
};

struct DcmSpec {
  std::uint32_t port = 0;
  std::uint32_t first_readout = 0;  // collects from these
  std::uint32_t readouts = 0;
  std::uint32_t credits = 16;  // number of slices open at a time
  double slices_per_s = 0;     // offered rate; 0: limited only by credit
  Cpu cpu;
};

// Traffic of others through a port.
struct OtherTraffic {
  std::uint32_t port = 0;
  double udp_bits_per_s = 0;  // 0: a greedy TCP flow
  TimeNs from_ns = 0;
  TimeNs until_ns = 0;
};

// The network of a run. `hosts_together`: readout i and the DCMs of port i share a host. Its uplink also
// carries the DCMs' requests and acknowledgements.
struct PullNetwork {
  std::string name;
  std::uint64_t seed = 1;
  DurationNs length_ns = 5 * kSecond;
  std::vector<ReadoutSpec> readouts;
  std::vector<DcmSpec> dcms;
  std::vector<LinkSpec> ports;
  std::vector<LinkSpec> core;  // at most one
  std::vector<LinkSpec> line;  // at most one
  std::vector<OtherTraffic> foreign;
  bool hosts_together = false;
  bool strangers = false;  // DCMs of different farms: they receive no information about each other
  TcpSpec tcp;             // of the readouts' hosts
  double reordered = 0;    // share of packets overtaken after the port
};

[[nodiscard]] std::string describe(const PullNetwork& network);

// Rate of a link at a time, bits per second.
[[nodiscard]] double rate_at(const LinkSpec& link, TimeNs at_ns);

// Returns the payload bytes per second of all DCMs that the links allow at best: every link's rate is divided
// among the DCMs so that the least served DCM gets as much as possible.
[[nodiscard]] double best_bytes_per_s(const PullNetwork& network, TimeNs at_ns);
// On average from one time to another.
[[nodiscard]] double best_bytes_per_s(const PullNetwork& network, TimeNs from_ns, TimeNs to_ns);

[[nodiscard]] constexpr bool same_host(const PullNetwork& network, const DcmSpec& dcm,
                                       std::uint32_t readout) {
  return network.hosts_together && dcm.port == readout;
}

}  // namespace weir::packet_model
