#include <weir/metrics/table.hpp>
#include <weir/reports/metric_value.hpp>

#include <string>

namespace weir::reports {

std::optional<MetricValue> metric_value(const v1::Report& report, std::string_view name) {
  using metrics::Entry;
  std::optional<MetricValue> found;
  const auto add = [&](const Entry& entry, const std::string& key, double value) {
    const bool is_it = entry.is_family() ? std::string_view(key).starts_with(entry.key) : key == entry.key;
    if (!is_it) return;
    if (!found) found.emplace();
    found->value += value * entry.scale;
    found->grows = entry.kind == Entry::Kind::counter;
  };
  for (const Entry& entry : metrics::kTable) {
    if (entry.name != name || entry.kind == Entry::Kind::histogram) continue;
    if (entry.from == Entry::From::counter) {
      for (const auto& [key, value] : report.counters()) add(entry, key, static_cast<double>(value));
    } else if (entry.from == Entry::From::gauge) {
      for (const auto& [key, value] : report.gauges()) add(entry, key, value);
    }
  }
  return found;
}

}  // namespace weir::reports
