#include <weir/reports/numbers.hpp>

namespace weir::reports {

std::uint64_t& ReportCounters::of(metrics::FamilyKey family, std::string_view reason) {
  std::string key(family.text());
  key.append(reason);
  return map_[key];
}

void add_sum(v1::Report& report, metrics::SumKey key, const SliceSum& sum) {
  v1::SliceSum& out = (*report.mutable_sums())[std::string(key.text())];
  out.set_count(sum.count);
  out.set_hash_sum(sum.hash_sum);
}

namespace {

void add_named(v1::Report& report, std::string_view name, const metrics::ValueHistogram& histogram) {
  if (histogram.count() == 0) return;
  const metrics::EncodedHistogram encoded = histogram.encode();
  v1::Histogram& out = *report.add_histograms();
  out.set_name(std::string(name));
  for (const auto& bucket : encoded.buckets) {
    out.add_bucket(bucket.index);
    out.add_count(bucket.count);
  }
  out.set_min(encoded.min);
  out.set_max(encoded.max);
  out.set_sum(encoded.sum);
}

}  // namespace

void add_histogram(v1::Report& report, metrics::HistogramKey key, const metrics::ValueHistogram& histogram) {
  add_named(report, key.text(), histogram);
}

void add_histogram(v1::Report& report, const metrics::Entry& entry,
                   const metrics::ValueHistogram& histogram) {
  add_named(report, entry.key, histogram);
}

std::uint64_t counter_of(const CounterMap& counters, metrics::CounterKey key) {
  const auto found = counters.find(std::string(key.text()));
  return found == counters.end() ? 0 : found->second;
}

std::uint64_t total_of(const CounterMap& counters, metrics::FamilyKey family) {
  std::uint64_t total = 0;
  for (const auto& [key, value] : counters) {
    if (key.starts_with(family.text())) total += value;
  }
  return total;
}

std::map<std::string, std::uint64_t> by_reason(const CounterMap& counters, metrics::FamilyKey family) {
  std::map<std::string, std::uint64_t> out;
  for (const auto& [key, value] : counters) {
    if (value > 0 && key.starts_with(family.text())) out[key.substr(family.text().size())] = value;
  }
  return out;
}

std::uint64_t counter_of(const v1::Report& report, metrics::CounterKey key) {
  return counter_of(report.counters(), key);
}

std::uint64_t counter_of(const v1::Report& report, metrics::FamilyKey family, std::string_view reason) {
  std::string key(family.text());
  key.append(reason);
  const auto found = report.counters().find(key);
  return found == report.counters().end() ? 0 : found->second;
}

std::uint64_t total_of(const v1::Report& report, metrics::FamilyKey family) {
  return total_of(report.counters(), family);
}

std::map<std::string, std::uint64_t> by_reason(const v1::Report& report, metrics::FamilyKey family) {
  return by_reason(report.counters(), family);
}

std::optional<double> gauge_of(const v1::Report& report, metrics::GaugeKey key) {
  const auto found = report.gauges().find(std::string(key.text()));
  if (found == report.gauges().end()) return std::nullopt;
  return found->second;
}

SliceSum sum_of(const v1::Report& report, metrics::SumKey key) {
  const auto found = report.sums().find(std::string(key.text()));
  if (found == report.sums().end()) return {};
  return {found->second.count(), found->second.hash_sum()};
}

metrics::ValueHistogram histogram_of(const v1::Report& report, metrics::HistogramKey key) {
  for (const v1::Histogram& in : report.histograms()) {
    if (in.name() != key.text() || in.bucket_size() != in.count_size()) continue;
    metrics::EncodedHistogram encoded{{}, in.min(), in.max(), in.sum()};
    for (int i = 0; i < in.bucket_size(); ++i) {
      if (in.bucket(i) >= metrics::ValueHistogram::kBuckets) return {};
      encoded.buckets.push_back({static_cast<std::uint32_t>(in.bucket(i)), in.count(i)});
    }
    if (auto decoded = metrics::ValueHistogram::decode(encoded)) return *decoded;
  }
  return {};
}

std::uint64_t counter_of(const v1::RunSummary& account, metrics::CounterKey key) {
  return counter_of(account.counters(), key);
}

std::uint64_t total_of(const v1::RunSummary& account, metrics::FamilyKey family) {
  return total_of(account.counters(), family);
}

std::map<std::string, std::uint64_t> by_reason(const v1::RunSummary& account, metrics::FamilyKey family) {
  return by_reason(account.counters(), family);
}

}  // namespace weir::reports
