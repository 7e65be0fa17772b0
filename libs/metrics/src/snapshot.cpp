#include <weir/metrics/snapshot.hpp>

namespace weir::metrics {

std::string_view name(MetricsError error) {
  switch (error) {
    case MetricsError::bucket_out_of_range:
      return "bucket_out_of_range";
    case MetricsError::buckets_not_ascending:
      return "buckets_not_ascending";
    case MetricsError::bucket_empty:
      return "bucket_empty";
    case MetricsError::count_overflow:
      return "count_overflow";
    case MetricsError::extremes_do_not_match:
      return "extremes_do_not_match";
    case MetricsError::kind_mismatch:
      return "kind_mismatch";
  }
  return "unknown";
}

Expected<void, MetricsError> Snapshot::add(std::string_view metric_name, const Metric& value) {
  const auto found = values_.find(metric_name);
  if (found == values_.end()) {
    values_.emplace(metric_name, value);
    return {};
  }
  if (found->second.index() != value.index()) return Unexpected<MetricsError>(MetricsError::kind_mismatch);
  std::visit(
      [&value](auto& mine) {
        using Kind = std::decay_t<decltype(mine)>;
        mine.merge(std::get<Kind>(value));
      },
      found->second);
  return {};
}

Expected<void, MetricsError> Snapshot::merge(const Snapshot& other) {
  for (const auto& [metric_name, value] : other.values_) {
    const Metric* mine = find(metric_name);
    if (mine != nullptr && mine->index() != value.index())
      return Unexpected<MetricsError>(MetricsError::kind_mismatch);
  }
  for (const auto& [metric_name, value] : other.values_) {
    if (auto added = add(metric_name, value); !added) return added;
  }
  return {};
}

const Metric* Snapshot::find(std::string_view metric_name) const {
  const auto found = values_.find(metric_name);
  return found == values_.end() ? nullptr : &found->second;
}

std::uint64_t Snapshot::counter(std::string_view metric_name) const {
  const Metric* metric = find(metric_name);
  const Counter* counter = metric == nullptr ? nullptr : std::get_if<Counter>(metric);
  return counter == nullptr ? 0 : counter->value();
}

}  // namespace weir::metrics
