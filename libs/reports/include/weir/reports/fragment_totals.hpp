#pragma once

#include <weir/v1/control.pb.h>

#include <cstdint>
#include <map>
#include <string>

namespace weir::reports {

// What a farm's DCMs and readouts together count of fragments. All totals that are shown or kept come from
// here: the supervisor adds up the last reports of all processes, dead ones included, and its own report has
// the sums as `farm.*`.
struct FragmentTotals {
  std::uint64_t requested = 0;
  std::uint64_t received = 0;
  std::map<std::string, std::uint64_t> missing;  // by reason; all attempts
  // Part of `missing`: in attempts that did not count in the end.
  std::map<std::string, std::uint64_t> overtaken;
  std::map<std::string, std::uint64_t> dropped;  // likewise, by readouts
  // DCMs that were lost before their final report: what they counted after their last one is in no total, so
  // the others are lower bounds.
  std::uint64_t dcms_lost = 0;

  // Of a DCM or a readout; others count none.
  void add(const v1::Report& report, bool is_lost);
  void add(const FragmentTotals& other);
};
// Into a supervisor's report,
void add_totals(v1::Report& report, const FragmentTotals& totals);
// and out of one.
[[nodiscard]] FragmentTotals fragment_totals(const v1::Report& supervisor);

}  // namespace weir::reports
