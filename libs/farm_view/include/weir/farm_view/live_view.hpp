#pragma once

#include <weir/base/time.hpp>
#include <weir/reports/node_rates.hpp>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weir::farm_view {

// One process as the live view shows it.
struct LiveRow {
  std::string name;
  std::string role;
  std::string
      state;  // "running", "throttled: READOUT_BUFFER_BYTES readout-1", "starting", "dead: signal 9 (Killed)"
  bool measured = true;     // false: no rates yet
  double slices_per_s = 0;  // triggered, made, assigned or stored, by role
  double bytes_per_s = 0;   // of fragments sent or built, or stored
  std::uint64_t in_flight = 0;
  std::uint64_t lost = 0;  // slices discarded, fragments dropped or missing, dead copies, by role
};

struct LiveFrame {
  std::string state;  // the run's: "gathering", "running", "draining", "reporting"
  double run_s = 0;
  std::uint64_t triggered = 0;
  std::uint64_t stored = 0;
  std::uint64_t rejected = 0;
  std::uint64_t discarded = 0;
  std::uint64_t missing = 0;    // fragments
  std::uint64_t dcms_lost = 0;  // with any, `missing` is a lower bound
  std::string lab;              // a line on its ports; empty: there is none
  std::vector<LiveRow> rows;
};

// Rates from one status to the next. Pure.
class LiveRates {
 public:
  // What a status says that is shown at `now_ns` (any clock); a node's row has rates from its second report
  // on.
  [[nodiscard]] LiveFrame take(const v1::FarmStatus& status, TimeNs now_ns);

 private:
  [[nodiscard]] LiveRow row_of(const v1::Report& report, TimeNs now_ns);

  std::map<std::string, reports::NodeRates> rates_;
};

// A line on the run, a heading, a line per process; with more than `rows_max` processes those of a role share
// one. No line is longer than `columns`.
[[nodiscard]] std::vector<std::string> format_live(const LiveFrame& frame, std::size_t columns,
                                                   std::size_t rows_max);

// ", at least 9,076 fragments missing"; empty when none is.
[[nodiscard]] std::string missing_text(std::uint64_t missing, std::uint64_t dcms_lost);

}  // namespace weir::farm_view
