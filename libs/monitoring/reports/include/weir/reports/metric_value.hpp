#pragma once

#include <weir/metrics/table.hpp>
#include <weir/v1/control.pb.h>

#include <map>
#include <optional>
#include <string_view>

namespace weir::reports {

struct MetricValue {
  double value = 0;
  bool grows = false;  // a counter
};
// Returns a report's value of an exported metric, such as weir_slices_in_flight, summed over its labels;
// nullopt: the report has none, or the name is not that of a counter or gauge.
[[nodiscard]] std::optional<MetricValue> metric_value(const v1::Report& report, std::string_view name);

// Returns all counters and gauges of a report by their metric, in its unit, summed over labels.
[[nodiscard]] std::map<const metrics::Entry*, double> metric_values(const v1::Report& report);

}  // namespace weir::reports
