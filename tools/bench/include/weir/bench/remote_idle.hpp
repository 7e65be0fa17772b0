#pragma once

#include <weir/bench/conditions.hpp>
#include <weir/bench/figure.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

// `weir bench remote --figure 4`: the time of a request and its response of 1 MB over a long line that idles
// between them. Figures 4 and 5 of atlas-remote-farms-wan-2005, section III.A.
namespace weir::bench {

struct IdleCase {
  std::string label;
  bool restarts_slowly = true;   // the kernel reduces the congestion window of an idle connection
  std::uint32_t silence_ms = 0;  // network.silence_ms; 0: the default, with which probes keep the line busy
  double paper_ms = 0;           // 0: not in the paper
};
[[nodiscard]] const std::vector<IdleCase>& idle_cases();

struct IdleOptions {
  double seconds = 30;  // of a run
  double pause_s = 3;   // from request to request: above several of TCP's timeouts
  double line_mbit = 400;
  double delay_ms = 10;  // of the line, in each direction
  Output output{.name = "remote-4"};
};

[[nodiscard]] std::string idle_farm(const IdleCase& one, const IdleOptions& options);
[[nodiscard]] std::string idle_lab(const IdleCase& one, const IdleOptions& options);
// `times_ms`: slice, from request to last byte; the first ones are left out.
[[nodiscard]] Line line_of(const IdleCase& one, const IdleOptions& options,
                           const std::vector<std::pair<double, double>>& times_ms, bool balanced);
// Returns the time that a response takes at least: a round trip, and its frames on the wire at the line's
// rate.
[[nodiscard]] double floor_ms(const IdleOptions& options);
[[nodiscard]] std::string idle_page(const Lines& lines, const IdleOptions& options,
                                    const RunConditions& conditions);

// 0: every run ended with a ledger that balances. Needs root.
[[nodiscard]] int run_remote_idle(const IdleOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
