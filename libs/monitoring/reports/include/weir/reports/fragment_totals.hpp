#pragma once

#include <weir/v1/control.pb.h>

#include <cstdint>
#include <map>
#include <string>

namespace weir::reports {

// Fragment counts of all DCMs and readouts of a farm. All displayed or stored totals come from here: the
// supervisor adds up the last reports of all processes, ended ones included, and its own report has the sums
// as `farm.*`.
struct FragmentTotals {
  std::uint64_t requested = 0;
  std::uint64_t received = 0;
  std::map<std::string, std::uint64_t> missing;  // by reason; all attempts
  // Part of `missing`: in attempts that were overtaken in the end.
  std::map<std::string, std::uint64_t> overtaken;
  std::map<std::string, std::uint64_t> dropped;  // by reason; by readouts
  // DCMs that were lost before their final report. Their counts after the last report are in no total, so the
  // totals are lower bounds.
  std::uint64_t dcms_lost = 0;

  // Adds the report of a DCM or a readout; other roles have no such counts.
  void add(const v1::Report& report, bool is_lost);
  void add(const FragmentTotals& other);
};
// Writes the totals into a supervisor's report,
void add_totals(v1::Report& report, const FragmentTotals& totals);
// and reads them from one.
[[nodiscard]] FragmentTotals fragment_totals(const v1::Report& supervisor);

}  // namespace weir::reports
