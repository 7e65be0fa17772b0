#include <weir/metrics/table.hpp>
#include <weir/reports/metric_value.hpp>

#include <string>
#include <unordered_map>
#include <utility>

namespace weir::reports {
namespace {

using metrics::Entry;

// Returns the metric of a report's key, also of one of a family.
const Entry* entry_of(Entry::From from, std::string_view key) {
  static const auto entries = [] {
    std::unordered_map<std::string_view, const Entry*> made[2];
    for (const Entry& one : metrics::kTable) {
      if (one.from == Entry::From::counter) made[0].emplace(one.key, &one);
      if (one.from == Entry::From::gauge) made[1].emplace(one.key, &one);
    }
    return std::pair(std::move(made[0]), std::move(made[1]));
  }();
  const auto& table = from == Entry::From::counter ? entries.first : entries.second;
  if (const auto found = table.find(key); found != table.end()) return found->second;
  for (std::size_t dot = key.rfind('.'); dot != std::string_view::npos && dot > 0;
       dot = key.rfind('.', dot - 1)) {
    if (const auto found = table.find(key.substr(0, dot + 1)); found != table.end()) return found->second;
  }
  return nullptr;
}

}  // namespace

std::optional<MetricValue> metric_value(const v1::Report& report, std::string_view name) {
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

std::map<const Entry*, double> metric_values(const v1::Report& report) {
  std::map<const Entry*, double> values;
  for (const auto& [key, value] : report.counters()) {
    if (const Entry* entry = entry_of(Entry::From::counter, key))
      values[entry] += static_cast<double>(value) * entry->scale;
  }
  for (const auto& [key, value] : report.gauges()) {
    if (const Entry* entry = entry_of(Entry::From::gauge, key)) values[entry] += value * entry->scale;
  }
  return values;
}

}  // namespace weir::reports
