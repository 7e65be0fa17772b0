#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// `weir probe`: measures a line between two hosts, without a farm.
namespace weir::probe {

struct ListenOptions {
  std::string at;        // HOST:PORT, of TCP and UDP
  std::string key_file;  // farm key; empty: none
  bool open = false;     // no key, although other machines reach the address
};

struct ProbeOptions {
  std::vector<std::string> servers;  // HOST:PORT; the first is measured, all of them flood
  std::string key_file;
  std::uint32_t echoes = 200;
  std::uint32_t requests = 8;  // of each series
  std::uint32_t response_bytes = 1000000;
  std::uint32_t pause_ms = 1000;             // between a response and the next request
  std::uint32_t buffer_bytes = 0;            // socket buffers of both ends; 0: the kernel's
  std::string congestion_control = "cubic";  // of the server for requests; empty: the kernel's
  bool pause_port = false;                   // pauses the switch's port to measure its buffer
  bool line_only = false;                    // round trip, rate and buffer alone
  std::string out;                           // file for all samples; empty: none
};

// Serves clients until a signal. Returns the exit status: 0, 1 failed, 2 a wrong option.
[[nodiscard]] int listen(const ListenOptions& options, std::FILE* out, std::FILE* err);
// Measures the line from the first server to this host. Returns the exit status: 0 measured, 1 failed, 2 a
// wrong option, 3 no server answered.
[[nodiscard]] int probe(const ProbeOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::probe
