#pragma once

#include <weir/base/expected.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace weir::bench {

// The rate of a minimal event builder on this machine: processes that exchange requests and fragments over
// TCP loopback by epoll, sendmsg and readv, into each slice's own memory. Without supervisor, filter,
// decisions and checksums. The reference for Weir's rate.
struct CeilingSettings {
  unsigned readouts = 4;
  unsigned collectors = 1;
  std::uint32_t fragment_bytes = 1024;
  unsigned slices_in_flight = 0;  // per DCM; 0: the best value for the size
  double seconds = 2;
};

struct CeilingResult {
  double fragments_per_s = 0;
  double goodput_bytes_per_s = 0;
  double cpu_us_per_fragment = 0;
  double system_calls_per_fragment = 0;
};

[[nodiscard]] Expected<CeilingResult, std::string> measure_ceiling(const CeilingSettings& settings);

// Slices in flight per DCM that fill loopback at this fragment size.
[[nodiscard]] unsigned slices_in_flight_for(std::uint32_t fragment_bytes);

}  // namespace weir::bench
