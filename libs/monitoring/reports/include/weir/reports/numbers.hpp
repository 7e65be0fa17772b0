#pragma once

#include <weir/base/hash.hpp>
#include <weir/metrics/histogram.hpp>
#include <weir/metrics/key.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

// The numbers of a report, written and read by the keys of metrics' table. A key that is missing in the
// table, or of another kind, does not compile. Missing numbers read as 0, empty or nothing.
namespace weir::reports {

using CounterMap = google::protobuf::Map<std::string, std::uint64_t>;

// Writes a node's numbers. Requires: the report outlives it.
class ReportCounters {
 public:
  explicit ReportCounters(v1::Report& report) : map_(*report.mutable_counters()) {}

  std::uint64_t& operator[](metrics::CounterKey key) { return map_[std::string(key.text())]; }
  // Returns one counter of a family: ("vetoed.", "paused").
  std::uint64_t& of(metrics::FamilyKey family, std::string_view reason);

 private:
  CounterMap& map_;
};

class Gauges {
 public:
  explicit Gauges(v1::Report& report) : map_(*report.mutable_gauges()) {}

  double& operator[](metrics::GaugeKey key) { return map_[std::string(key.text())]; }

 private:
  google::protobuf::Map<std::string, double>& map_;
};

void add_sum(v1::Report& report, metrics::SumKey key, const SliceSum& sum);
// Does nothing for an empty histogram.
void add_histogram(v1::Report& report, metrics::HistogramKey key, const metrics::ValueHistogram& histogram);
void add_histogram(v1::Report& report, const metrics::Entry& entry, const metrics::ValueHistogram& histogram);

[[nodiscard]] std::uint64_t counter_of(const CounterMap& counters, metrics::CounterKey key);
// Returns the sum over a family.
[[nodiscard]] std::uint64_t total_of(const CounterMap& counters, metrics::FamilyKey family);
// Returns the counters of a family that are above 0, by the rest of their keys.
[[nodiscard]] std::map<std::string, std::uint64_t> by_reason(const CounterMap& counters,
                                                             metrics::FamilyKey family);

[[nodiscard]] std::uint64_t counter_of(const v1::Report& report, metrics::CounterKey key);
[[nodiscard]] std::uint64_t counter_of(const v1::Report& report, metrics::FamilyKey family,
                                       std::string_view reason);
[[nodiscard]] std::uint64_t total_of(const v1::Report& report, metrics::FamilyKey family);
[[nodiscard]] std::map<std::string, std::uint64_t> by_reason(const v1::Report& report,
                                                             metrics::FamilyKey family);
[[nodiscard]] std::optional<double> gauge_of(const v1::Report& report, metrics::GaugeKey key);
[[nodiscard]] SliceSum sum_of(const v1::Report& report, metrics::SumKey key);
// Returns an empty histogram if it is malformed.
[[nodiscard]] metrics::ValueHistogram histogram_of(const v1::Report& report, metrics::HistogramKey key);

// Returns a number of a run's account, from the supervisor's report.
[[nodiscard]] std::uint64_t counter_of(const v1::RunSummary& account, metrics::CounterKey key);
[[nodiscard]] std::uint64_t total_of(const v1::RunSummary& account, metrics::FamilyKey family);
[[nodiscard]] std::map<std::string, std::uint64_t> by_reason(const v1::RunSummary& account,
                                                             metrics::FamilyKey family);

}  // namespace weir::reports
