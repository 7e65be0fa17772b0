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

// One process in the live view.
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
  std::uint64_t dcms_lost = 0;  // if above 0, `missing` is a lower bound
  std::string lab;              // a line about the lab's ports; may be empty
  std::vector<LiveRow> rows;
};

// Rates from one status to the next. Pure.
class LiveRates {
 public:
  // Returns the frame for a status shown at `now_ns` (any clock). A node's row has rates from its second
  // report on.
  [[nodiscard]] LiveFrame take(const v1::FarmStatus& status, TimeNs now_ns);

 private:
  [[nodiscard]] LiveRow row_of(const v1::Report& report, TimeNs now_ns);

  std::map<std::string, reports::NodeRates> rates_;
};

// Returns a line about the run, a heading, and a line per process, or per role if there are more than
// `rows_max` processes. No line is longer than `columns`.
[[nodiscard]] std::vector<std::string> format_live(const LiveFrame& frame, std::size_t columns,
                                                   std::size_t rows_max);

// Returns ", at least 9,076 fragments missing"; empty if none are missing.
[[nodiscard]] std::string missing_text(std::uint64_t missing, std::uint64_t dcms_lost);

}  // namespace weir::farm_view
