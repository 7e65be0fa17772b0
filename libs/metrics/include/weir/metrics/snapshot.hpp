#pragma once

#include <weir/base/expected.hpp>
#include <weir/metrics/counter.hpp>
#include <weir/metrics/histogram.hpp>

#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace weir::metrics {

using Metric = std::variant<Counter, Gauge, Histogram>;

// The metrics of one process at one moment, or of several processes together: name -> value, ordered by name.
// A name stands for one kind of metric. One thread.
class Snapshot {
 public:
  // Adds to what the name holds already (counters and gauges: the sum, histograms: both distributions).
  [[nodiscard]] Expected<void, MetricsError> add(std::string_view metric_name, const Metric& value);
  // All or nothing: a snapshot with a name of another kind leaves this one as it was.
  [[nodiscard]] Expected<void, MetricsError> merge(const Snapshot& other);

  [[nodiscard]] const Metric* find(std::string_view metric_name) const;
  // The value of a counter; 0 when there is none of that name.
  [[nodiscard]] std::uint64_t counter(std::string_view metric_name) const;
  [[nodiscard]] const std::map<std::string, Metric, std::less<>>& values() const { return values_; }

 private:
  std::map<std::string, Metric, std::less<>> values_;
};

}  // namespace weir::metrics
