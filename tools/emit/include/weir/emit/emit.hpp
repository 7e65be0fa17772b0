#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace weir::emit {

struct EmitOptions {
  std::string farm_file;             // empty: `to` and `sources` say it all
  std::vector<std::string> sets;     // key=value, over the farm file
  std::vector<std::string> to;       // HOST:PORT of readouts, instead of the farm file's
  std::vector<std::string> sources;  // "1-4,7", one entry per `to`
  std::string trigger;               // HOST:PORT, "none", or empty: as in the farm file
  std::string from = "dummy";        // dummy, hits, or a path of recorded data
  double rate_hz = 100;              // slices; 0: as fast as possible
  std::uint64_t slices = 0;          // 0: until the run is over, or a signal
  std::uint64_t first_slice = 0;
  std::uint64_t run = 0;                 // 0: as the supervisor or the farm file says
  std::optional<std::uint32_t> session;  // of this start of the front-ends; nullopt: a new one each time
  std::uint64_t size_bytes = 0;          // 0: as the farm file says
  std::uint32_t packet_bytes = 1472;     // per datagram: the payload of an Ethernet frame of 1500 bytes
  bool stamps = false;  // counters and times are sent; as well if the farm file has a section `build`
  std::string slip;     // SOURCE:KIND@SLICE
  std::uint64_t drop_every = 0;  // n: every n-th packet is dropped, to test its handling; 0: none
};

// `weir emit`: plays the front-ends of a farm. Returns the exit status: 0 done, 1 failed, 2 a wrong command
// line or farm file.
[[nodiscard]] int emit(const EmitOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::emit
