#include <weir/base/assert.hpp>
#include <weir/reports/node_rates.hpp>
#include <weir/reports/numbers.hpp>

#include <algorithm>

namespace weir::reports {
namespace {

NodeTotals of_role(const v1::Report& report) {
  switch (report.role()) {
    case v1::ROLE_SUPERVISOR:
      return {counter_of(report, "triggered"), 0, total_of(report, "discarded."),
              counter_of(report, "stored"), counter_of(report, "rejected")};
    case v1::ROLE_READOUT:
      return {counter_of(report, "readout.made"), counter_of(report, "net.bytes_sent"),
              total_of(report, "fragments.dropped.")};
    case v1::ROLE_DCM:
      return {counter_of(report, "dcm.assigned"), counter_of(report, "fragments.bytes"),
              total_of(report, "fragments.missing.")};
    case v1::ROLE_WRITER:
      return {counter_of(report, "writer.records"), counter_of(report, "writer.bytes_stored"),
              counter_of(report, "writer.dead_copies")};
    default:
      return {};
  }
}

}  // namespace

NodeTotals node_totals(const v1::Report& report) {
  NodeTotals totals = of_role(report);
  totals.cpu_s = gauge_of(report, "process.cpu_s").value_or(0);
  return totals;
}

void NodeRates::clear() { *this = {}; }

void NodeRates::take(const v1::Report& report, TimeNs seen_ns) {
  const bool same = known_ && incarnation_ == report.incarnation();
  if (same && report.now_ns() == now_ns_) {
    constexpr int kIntervals = 3;
    if (report.final() || seen_ns - seen_ns_ > std::max<DurationNs>(kSecond, kIntervals * passed_ns_))
      measured_ = false;
    return;
  }
  const NodeTotals totals = node_totals(report);
  const metrics::ValueHistogram built_us = histogram_of(report, "build_latency_us");
  // A new run counts from zero in a process that continues.
  const bool goes_on = same && report.now_ns() > now_ns_ && totals.slices >= totals_.slices &&
                       totals.bytes >= totals_.bytes && built_us.count() >= built_us_total_.count();
  if (goes_on) {
    measure(totals, built_us, report.now_ns());
  } else {
    measured_ = false;
    built_us_ = {};
  }
  known_ = true;
  incarnation_ = report.incarnation();
  now_ns_ = report.now_ns();
  seen_ns_ = seen_ns;
  totals_ = totals;
  built_us_total_ = built_us;
}

void NodeRates::measure(const NodeTotals& totals, const metrics::ValueHistogram& built_us, TimeNs now_ns) {
  WEIR_ASSERT(now_ns > now_ns_ && totals.slices >= totals_.slices && totals.bytes >= totals_.bytes);
  measured_ = true;
  passed_ns_ = now_ns - now_ns_;
  slices_ = totals.slices - totals_.slices;
  bytes_ = totals.bytes - totals_.bytes;
  stored_ = totals.stored - std::min(totals_.stored, totals.stored);
  rejected_ = totals.rejected - std::min(totals_.rejected, totals.rejected);
  cpu_s_ = std::max(0.0, totals.cpu_s - totals_.cpu_s);
  built_us_ = built_us.since(built_us_total_);
}

double NodeRates::per_s(double count) const {
  if (!measured_ || passed_ns_ <= 0) return 0;
  return count * static_cast<double>(kSecond) / static_cast<double>(passed_ns_);
}

}  // namespace weir::reports
