#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// `weir bench remote`: a local group of DCMs beside a remote one behind a long thin line, in a virtual
// network. The remote farms of atlas-remote-farms-wan-2005, section III.
namespace weir::bench {

enum class RemoteMode : std::uint8_t {
  idle,    // the local group forwards nothing
  busy,    // it forwards more than the line carries
  cut_off  // as busy, and the line is down for most of the run
};
[[nodiscard]] std::string name(RemoteMode mode);

struct RemoteOptions {
  std::uint32_t rounds = 5;             // each mode once a round
  double seconds = 12;                  // of triggers in a run
  double line_mbit = 200;               // the local DCM's port has twice as much
  double delay_ms = 20;                 // of the line, in each direction
  std::uint32_t fragment_bytes = 4000;  // 16 of them are a slice
  bool fetch = false;  // the remote group gets built slices from the local DCM, not from the readouts
  std::string out;     // folder for the table and the lines; empty: nothing is written
  std::string name = "remote-8";
  std::string command;
};

// One run.
struct RemoteResult {
  RemoteMode mode = RemoteMode::idle;
  std::uint32_t round = 0;
  double local_hz = 0;           // slices that the local group took, per second of triggers
  double remote_hz = 0;          // slices that the remote group decided, per second of the whole run
  double line_share = 0;         // payload over the line as a share of what the line can carry
  double round_trip_p50_ms = 0;  // remote group: assignment to decision
  double outage_s = 0;
  std::uint64_t arrived = 0;     // at the remote group
  std::uint64_t decided = 0;     // by it
  std::uint64_t incomplete = 0;  // fragments missing anywhere
  double cpu_share = 0;          // of the machine's cores, by the farm's processes
  bool balanced = false;
};

struct RemoteSummary {
  RemoteMode mode = RemoteMode::idle;
  double local_hz = 0;           // median
  double local_spread = 0;       // (largest - smallest) / median
  double line_share = 0;         // median
  double cpu_share = 0;          // median
  double round_trip_p50_ms = 0;  // median
};
// One entry per mode that has results, in the order of the modes. Pure.
[[nodiscard]] std::vector<RemoteSummary> summaries_of(const std::vector<RemoteResult>& results);

// Returns the largest payload rate of a line with this rate, in bytes per second (full frames with time
// stamps).
[[nodiscard]] double line_bytes_per_s(double line_mbit);

[[nodiscard]] std::string remote_lines(const std::vector<RemoteResult>& results,
                                       const RemoteOptions& options);
[[nodiscard]] std::string remote_table(const std::vector<RemoteResult>& results, const RemoteOptions& options,
                                       const std::string& machine);

// 0: every run ended with a ledger that balances, and lost no slice and no fragment. Needs root.
[[nodiscard]] int run_remote(const RemoteOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
