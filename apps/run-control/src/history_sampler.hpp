#pragma once

#include "members.hpp"
#include <weir/control/farm_machine.hpp>
#include <weir/metrics/table.hpp>
#include <weir/reports/node_rates.hpp>

#include <map>
#include <string>

namespace weir::run_control {

// Values of the farm for its history, by series: "dcm/weir_…" for each metric of docs/metrics.md and role: of
// counters the processes' rates added up, of gauges the largest; and "farm/…" of all together.
class HistorySampler {
 public:
  static constexpr DurationNs kStale = 30 * kSecond;  // a report that is not renewed

  // Returns the values since the last call.
  [[nodiscard]] std::map<std::string, double> sample(const control::FarmMachine& machine,
                                                     const Members& members, TimeNs now);

 private:
  using Totals = std::map<const metrics::Entry*, double>;
  struct Seen {
    std::uint64_t incarnation = 0;
    std::int64_t report_ns = 0;  // the process' clock
    TimeNs seen_ns = 0;
    Totals totals;
    Totals rates;  // per second
    reports::NodeRates built;
  };
  void take(const v1::Report& report, TimeNs now, Seen& seen);

  std::map<std::string, Seen> seen_;  // by process
};

}  // namespace weir::run_control
