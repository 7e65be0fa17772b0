#include <weir/reports/numbers.hpp>
#include <weir/run_record/steady_part.hpp>

#include <algorithm>

namespace weir::run_record {
namespace {

// Totals over all processes of a DCM's name.
struct DcmTotals {
  TimeNs first_ns = INT64_MAX;
  TimeNs last_ns = INT64_MIN;
  std::uint64_t intervals = 0;  // number of intervals between its reports
  double bytes = 0;
  double slices = 0;
  double seconds = 0;  // duration that its rates refer to

  [[nodiscard]] double seen_s() const { return static_cast<double>(last_ns - first_ns) / kSecond; }
  [[nodiscard]] double goodput() const { return bytes / seconds; }
};

// DCMs report at different times, so each is measured over its own. A DCM that was absent for part of the run
// is measured over the whole run, because others had its share in that time.
bool choose_times(std::map<std::string, DcmTotals>& dcms, double longest_s) {
  constexpr double kReportsApart = 2;
  for (auto& [name, totals] : dcms) {
    if (totals.intervals == 0 || totals.seen_s() <= 0) return false;
    const double interval_s = totals.seen_s() / static_cast<double>(totals.intervals);
    const bool all_the_time = longest_s - totals.seen_s() <= kReportsApart * interval_s;
    totals.seconds = all_the_time ? totals.seen_s() : longest_s;
  }
  return true;
}

std::uint64_t difference(const v1::Report& first, const v1::Report& last, metrics::CounterKey counter) {
  const std::uint64_t before = reports::counter_of(first, counter);
  const std::uint64_t after = reports::counter_of(last, counter);
  return after > before ? after - before : 0;
}

}  // namespace

void SteadyPart::take(const v1::FarmStatus& status, TimeNs now_ns) {
  if (status.state() != "running") return;
  if (!from_ns_) from_ns_ = now_ns - status.run_ns() + settling_ns_;
  for (const v1::Report& report : status.nodes()) {
    if (report.now_ns() < *from_ns_) continue;
    const auto [life, fresh] = lives_.try_emplace({report.name(), report.incarnation()});
    if (fresh) life->second.first = report;
    if (!fresh && report.now_ns() != life->second.last.now_ns()) ++life->second.intervals;
    life->second.last = report;
  }
}

std::optional<SteadyFigures> SteadyPart::figures() const {
  SteadyFigures figures;
  std::map<std::string, DcmTotals> dcms;
  for (const auto& [key, life] : lives_) {
    const auto& [first, last, intervals] = life;
    figures.retransmits += difference(first, last, "net.retransmits");
    if (last.role() != v1::ROLE_DCM) continue;
    const auto since = [&](metrics::HistogramKey latency) {
      return reports::histogram_of(last, latency).since(reports::histogram_of(first, latency));
    };
    figures.latency_us.merge(since("latency_us"));
    const metrics::ValueHistogram build_latency = since("build_latency_us");
    figures.build_latency_us.merge(build_latency);
    DcmTotals& totals = dcms[key.first];
    totals.first_ns = std::min(totals.first_ns, first.now_ns());
    totals.last_ns = std::max(totals.last_ns, last.now_ns());
    totals.intervals += intervals;
    totals.bytes += static_cast<double>(difference(first, last, "fragments.bytes_arrived"));
    totals.slices += static_cast<double>(build_latency.count());
  }
  if (dcms.empty()) return std::nullopt;
  for (const auto& [name, totals] : dcms) figures.seconds = std::max(figures.seconds, totals.seen_s());
  if (!choose_times(dcms, figures.seconds)) return std::nullopt;
  for (const auto& [name, totals] : dcms) {
    figures.goodput_bytes_per_s += totals.goodput();
    figures.slices_per_s += totals.slices / totals.seconds;
  }
  if (figures.goodput_bytes_per_s <= 0) return figures;
  const double equal = figures.goodput_bytes_per_s / static_cast<double>(dcms.size());
  const auto [least, most] = std::minmax_element(dcms.begin(), dcms.end(), [](const auto& a, const auto& b) {
    return a.second.goodput() < b.second.goodput();
  });
  figures.dcm_share_min = least->second.goodput() / equal;
  figures.dcm_share_max = most->second.goodput() / equal;
  return figures;
}

}  // namespace weir::run_record
