#include <weir/reports/numbers.hpp>
#include <weir/run_record/steady_part.hpp>

#include <algorithm>

namespace weir::run_record {
namespace {

struct DcmTotals {
  double seconds = 0;
  double bytes = 0;
  double slices = 0;

  [[nodiscard]] double goodput() const { return bytes / seconds; }
};

std::uint64_t difference(const v1::Report& first, const v1::Report& last, metrics::CounterKey counter) {
  const std::uint64_t before = reports::counter_of(first, counter);
  const std::uint64_t after = reports::counter_of(last, counter);
  return after > before ? after - before : 0;
}

}  // namespace

void SteadyPart::take(const v1::FarmStatus& status, TimeNs now_ns) {
  if (status.state() != "running") return;
  if (!from_ns_) from_ns_ = now_ns - status.run_ns() + kStartUp;
  for (const v1::Report& report : status.nodes()) {
    if (report.now_ns() < *from_ns_) continue;
    const auto [life, fresh] = lives_.try_emplace({report.name(), report.incarnation()});
    if (fresh) life->second.first = report;
    life->second.last = report;
  }
}

std::optional<SteadyFigures> SteadyPart::figures() const {
  SteadyFigures figures;
  std::map<std::string, DcmTotals> dcms;
  for (const auto& [key, life] : lives_) {
    const auto& [first, last] = life;
    figures.retransmits += difference(first, last, "net.retransmits");
    if (last.role() != v1::ROLE_DCM) continue;
    const auto since = [&](metrics::HistogramKey latency) {
      return reports::histogram_of(last, latency).since(reports::histogram_of(first, latency));
    };
    figures.latency_us.merge(since("latency_us"));
    const metrics::Histogram build_latency = since("build_latency_us");
    figures.build_latency_us.merge(build_latency);
    DcmTotals& totals = dcms[key.first];
    totals.seconds += static_cast<double>(last.now_ns() - first.now_ns()) / static_cast<double>(kSecond);
    totals.bytes += static_cast<double>(difference(first, last, "fragments.bytes_arrived"));
    totals.slices += static_cast<double>(build_latency.count());
  }
  if (dcms.empty()) return std::nullopt;
  for (const auto& [name, totals] : dcms) {
    if (totals.seconds <= 0) return std::nullopt;
    figures.seconds = std::max(figures.seconds, totals.seconds);
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
