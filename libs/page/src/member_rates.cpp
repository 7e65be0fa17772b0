#include "member_rates.hpp"

#include <weir/v1/control.pb.h>

namespace weir::page {

std::uint64_t counter_of(const v1::Report& report, std::string_view key) {
  const auto found = report.counters().find(std::string(key));
  return found == report.counters().end() ? 0 : found->second;
}

std::uint64_t sum_of(const v1::Report& report, std::string_view prefix) {
  std::uint64_t sum = 0;
  for (const auto& [key, value] : report.counters()) {
    if (key.starts_with(prefix)) sum += value;
  }
  return sum;
}

metrics::Histogram histogram_of(const v1::Report& report, std::string_view name) {
  for (const v1::Histogram& in : report.histograms()) {
    if (in.name() != name || in.bucket_size() != in.count_size()) continue;
    metrics::EncodedHistogram encoded{{}, in.min(), in.max(), in.sum()};
    for (int i = 0; i < in.bucket_size(); ++i) {
      if (in.bucket(i) >= metrics::Histogram::kBuckets) return {};
      encoded.buckets.push_back({static_cast<std::uint32_t>(in.bucket(i)), in.count(i)});
    }
    if (auto decoded = metrics::Histogram::decode(encoded)) return *decoded;
  }
  return {};
}

Totals totals_of(const v1::Report& report) {
  const auto count = [&](std::string_view key) { return counter_of(report, key); };
  switch (report.role()) {
    case v1::ROLE_SUPERVISOR:
      return {count("triggered"), 0, sum_of(report, "discarded."), count("stored"), count("rejected")};
    case v1::ROLE_READOUT:
      return {count("readout.made"), count("net.bytes_sent"), sum_of(report, "fragments.dropped."), 0, 0};
    case v1::ROLE_DCM:
      return {count("dcm.assigned"), count("fragments.bytes"), sum_of(report, "fragments.missing."), 0, 0};
    case v1::ROLE_WRITER:
      return {count("writer.records"), count("writer.bytes_stored"), count("writer.dead_copies"), 0, 0};
    default:
      return {};
  }
}

void MemberRates::clear() { *this = {}; }

void MemberRates::take(const v1::Report& report) {
  const bool same = known_ && incarnation_ == report.incarnation();
  if (same && report.now_ns() == now_ns_) {
    if (++unchanged_ >= kUpdatesStale || report.final()) measured_ = false;
    return;
  }
  unchanged_ = 0;
  const Totals totals = totals_of(report);
  const metrics::Histogram built_us = histogram_of(report, "build_latency_us");
  // A new run counts from nought again in a process that lives on.
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
  totals_ = totals;
  built_us_total_ = built_us;
}

void MemberRates::measure(const Totals& totals, const metrics::Histogram& built_us, TimeNs now_ns) {
  measured_ = true;
  passed_ns_ = now_ns - now_ns_;
  slices_ = totals.slices - totals_.slices;
  bytes_ = totals.bytes - totals_.bytes;
  stored_ = totals.stored - std::min(totals_.stored, totals.stored);
  rejected_ = totals.rejected - std::min(totals_.rejected, totals.rejected);
  built_us_ = built_us.since(built_us_total_);
}

double MemberRates::per_s(std::uint64_t count) const {
  if (!measured_ || passed_ns_ <= 0) return 0;
  return static_cast<double>(count) * static_cast<double>(kSecond) / static_cast<double>(passed_ns_);
}

}  // namespace weir::page
