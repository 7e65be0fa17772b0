#pragma once

#include <weir/bench/figure.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

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
  Output output{.name = "remote-8"};
};

// Returns the medians of each mode that has lines, in the order of the modes. `_local_spread`: (largest -
// smallest) / median of the local rate. Pure.
[[nodiscard]] Lines medians_by_mode(const Lines& lines);

// Returns the largest payload rate of a line with this rate, in bytes per second (full frames with time
// stamps).
[[nodiscard]] double line_bytes_per_s(double line_mbit);

[[nodiscard]] std::string remote_page(const Lines& lines, const RemoteOptions& options,
                                      const std::string& machine);

// 0: every run ended with a ledger that balances, and lost no slice and no fragment. Needs root.
[[nodiscard]] int run_remote(const RemoteOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
