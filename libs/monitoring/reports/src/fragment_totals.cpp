#include <weir/reports/fragment_totals.hpp>
#include <weir/reports/numbers.hpp>

namespace weir::reports {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

void add_counts(const Counts& more, Counts& counts) {
  for (const auto& [reason, count] : more) counts[reason] += count;
}

}  // namespace

void FragmentTotals::add(const v1::Report& report, bool is_lost) {
  const bool dcm = report.role() == v1::ROLE_DCM;
  if (!dcm && report.role() != v1::ROLE_READOUT) return;
  requested += counter_of(report, "fragments.requested");
  received += counter_of(report, "fragments.received");
  add_counts(by_reason(report, "fragments.missing."), missing);
  add_counts(by_reason(report, "fragments.overtaken."), overtaken);
  add_counts(by_reason(report, "fragments.dropped."), dropped);
  if (dcm && is_lost && !report.final()) ++dcms_lost;
}

void FragmentTotals::add(const FragmentTotals& other) {
  requested += other.requested;
  received += other.received;
  add_counts(other.missing, missing);
  add_counts(other.overtaken, overtaken);
  add_counts(other.dropped, dropped);
  dcms_lost += other.dcms_lost;
}

void add_totals(v1::Report& report, const FragmentTotals& totals) {
  ReportCounters counters(report);
  counters["farm.fragments.requested"] = totals.requested;
  counters["farm.fragments.received"] = totals.received;
  for (const auto& [reason, count] : totals.missing) counters.of("farm.fragments.missing.", reason) = count;
  for (const auto& [reason, count] : totals.overtaken)
    counters.of("farm.fragments.overtaken.", reason) = count;
  for (const auto& [reason, count] : totals.dropped) counters.of("farm.fragments.dropped.", reason) = count;
  counters["farm.dcms_lost"] = totals.dcms_lost;
}

FragmentTotals fragment_totals(const v1::Report& supervisor) {
  FragmentTotals totals;
  totals.requested = counter_of(supervisor, "farm.fragments.requested");
  totals.received = counter_of(supervisor, "farm.fragments.received");
  totals.missing = by_reason(supervisor, "farm.fragments.missing.");
  totals.overtaken = by_reason(supervisor, "farm.fragments.overtaken.");
  totals.dropped = by_reason(supervisor, "farm.fragments.dropped.");
  totals.dcms_lost = counter_of(supervisor, "farm.dcms_lost");
  return totals;
}

}  // namespace weir::reports
