#include "history_sampler.hpp"

#include <weir/base/role.hpp>
#include <weir/metrics/histogram.hpp>
#include <weir/reports/metric_value.hpp>

#include <algorithm>
#include <utility>

namespace weir::run_control {
using metrics::Entry;

void HistorySampler::take(const v1::Report& report, TimeNs now, Seen& seen) {
  if (report.now_ns() == seen.report_ns) return;
  Totals totals = reports::metric_values(report);
  seen.rates.clear();
  const double passed = static_cast<double>(report.now_ns() - seen.report_ns) / kSecond;
  if (seen.incarnation == report.incarnation() && seen.report_ns != 0 && passed > 0) {
    for (const auto& [entry, total] : totals) {
      if (entry->kind != Entry::Kind::counter) continue;
      const auto before = seen.totals.find(entry);
      const double grown = total - (before == seen.totals.end() ? 0 : before->second);
      if (grown >= 0) seen.rates[entry] = grown / passed;
    }
  }
  seen.incarnation = report.incarnation();
  seen.report_ns = report.now_ns();
  seen.seen_ns = now;
  seen.totals = std::move(totals);
}

std::map<std::string, double> HistorySampler::sample(const control::FarmMachine& machine,
                                                     const Members& members, TimeNs now) {
  std::map<std::string, double> values;
  metrics::ValueHistogram built_us;
  std::size_t absent = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const control::Member& member = machine.members()[i];
    const v1::Report& report = members[i].report;
    if (!member.live && !member.removed) ++absent;
    if (!member.live || !member.told.in_run() || report.now_ns() == 0) {
      seen_.erase(member.plan.name);
      continue;
    }
    Seen& seen = seen_[member.plan.name];
    take(report, now, seen);
    seen.built.take(report, now);
    if (now - seen.seen_ns > kStale) continue;
    const std::string role(name(member.plan.role));
    for (const auto& [entry, rate] : seen.rates) values[role + "/" + std::string(entry->name)] += rate;
    for (const auto& [entry, level] : seen.totals) {
      if (entry->kind != Entry::Kind::gauge) continue;
      const auto [at, is_new] = values.try_emplace(role + "/" + std::string(entry->name), level);
      if (!is_new) at->second = std::max(at->second, level);
    }
    if (member.plan.role == Role::dcm && seen.built.measured()) built_us.merge(seen.built.built_us());
  }
  values["farm/absent_processes"] = static_cast<double>(absent);
  if (built_us.count() > 0) {
    constexpr double kMicrosecondsPerSecond = 1e6;
    values["farm/build_p50_seconds"] = static_cast<double>(built_us.percentile(50)) / kMicrosecondsPerSecond;
    values["farm/build_p99_seconds"] = static_cast<double>(built_us.percentile(99)) / kMicrosecondsPerSecond;
  }
  return values;
}

}  // namespace weir::run_control
