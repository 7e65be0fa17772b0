#include <weir/node/report.hpp>

#include <string_view>
#include <sys/resource.h>

namespace weir::node {
namespace {

constexpr std::string_view kMissing = "fragments.missing.";
constexpr std::string_view kDropped = "fragments.dropped.";
constexpr std::string_view kFarm = "farm.";
constexpr const char* kDcmsLost = "farm.dcms_lost";

// Counters `before` + reason, summed up by reason.
void add_reasons(const v1::Report& report, const std::string& before,
                 std::map<std::string, std::uint64_t>& counts) {
  for (const auto& [key, count] : report.counters()) {
    if (key.starts_with(before) && count > 0) counts[key.substr(before.size())] += count;
  }
}

void add_counts(const std::map<std::string, std::uint64_t>& more,
                std::map<std::string, std::uint64_t>& counts) {
  for (const auto& [reason, count] : more) counts[reason] += count;
}

FragmentTotals read_totals(const v1::Report& report, const std::string& before) {
  FragmentTotals totals;
  totals.requested = counter_of(report, before + "fragments.requested");
  totals.received = counter_of(report, before + "fragments.received");
  add_reasons(report, before + std::string(kMissing), totals.missing);
  add_reasons(report, before + std::string(kDropped), totals.dropped);
  return totals;
}

}  // namespace

v1::Report begin_report(const messages::PeerInfo& self, TimeNs now_ns, bool final) {
  v1::Report report;
  report.set_final(final);
  report.set_name(self.name);
  report.set_role(static_cast<v1::Role>(self.role));
  report.set_index(self.index.value);
  report.set_incarnation(self.incarnation.value);
  report.set_now_ns(now_ns);
  return report;
}

void add_histogram(v1::Report& report, const std::string& name, const metrics::Histogram& histogram) {
  if (histogram.count() == 0) return;
  const metrics::EncodedHistogram encoded = histogram.encode();
  v1::Histogram& out = *report.add_histograms();
  out.set_name(name);
  for (const auto& bucket : encoded.buckets) {
    out.add_bucket(bucket.index);
    out.add_count(bucket.count);
  }
  out.set_min(encoded.min);
  out.set_max(encoded.max);
  out.set_sum(encoded.sum);
}

metrics::Histogram histogram_of(const v1::Report& report, std::string_view name) {
  for (const v1::Histogram& in : report.histograms()) {
    if (in.name() != name || in.bucket_size() != in.count_size()) continue;
    metrics::EncodedHistogram encoded;
    for (int i = 0; i < in.bucket_size(); ++i) {
      encoded.buckets.push_back({static_cast<std::uint32_t>(in.bucket(i)), in.count(i)});
    }
    encoded.min = in.min();
    encoded.max = in.max();
    encoded.sum = in.sum();
    if (auto decoded = metrics::Histogram::decode(encoded)) return *decoded;
  }
  return {};
}

void add_sum(v1::Report& report, const std::string& name, const SliceSum& sum) {
  v1::SliceSum& out = (*report.mutable_sums())[name];
  out.set_count(sum.count);
  out.set_hash_sum(sum.hash_sum);
}

SliceSum sum_of(const v1::Report& report, const std::string& name) {
  const auto found = report.sums().find(name);
  if (found == report.sums().end()) return {};
  return {found->second.count(), found->second.hash_sum()};
}

std::uint64_t counter_of(const v1::Report& report, const std::string& name) {
  const auto found = report.counters().find(name);
  return found == report.counters().end() ? 0 : found->second;
}

void FragmentTotals::add(const v1::Report& report, bool is_lost) {
  const bool dcm = report.role() == v1::ROLE_DCM;
  if (!dcm && report.role() != v1::ROLE_READOUT) return;
  add(read_totals(report, {}));
  if (dcm && is_lost && !report.final()) ++dcms_lost;
}

void FragmentTotals::add(const FragmentTotals& other) {
  requested += other.requested;
  received += other.received;
  add_counts(other.missing, missing);
  add_counts(other.dropped, dropped);
  dcms_lost += other.dcms_lost;
}

void add_totals(v1::Report& report, const FragmentTotals& totals) {
  auto& counters = *report.mutable_counters();
  const std::string farm(kFarm);
  counters[farm + "fragments.requested"] = totals.requested;
  counters[farm + "fragments.received"] = totals.received;
  for (const auto& [reason, count] : totals.missing) counters[farm + std::string(kMissing) + reason] = count;
  for (const auto& [reason, count] : totals.dropped) counters[farm + std::string(kDropped) + reason] = count;
  counters[kDcmsLost] = totals.dcms_lost;
}

FragmentTotals totals_of(const v1::Report& report) {
  FragmentTotals totals = read_totals(report, std::string(kFarm));
  totals.dcms_lost = counter_of(report, kDcmsLost);
  return totals;
}

void add_network(v1::Report& report, const ports::StreamCounters& streams,
                 const messages::PeerCounters& peers) {
  auto& counters = *report.mutable_counters();
  counters["net.bytes_received"] = streams.bytes_received;
  counters["net.bytes_sent"] = streams.bytes_sent;
  counters["net.receive_calls"] = streams.receive_calls;
  counters["net.send_calls"] = streams.send_calls;
  counters["net.wait_calls"] = streams.wait_calls;
  counters["net.retransmits"] = streams.retransmits;
  counters["peers.accepted"] = peers.accepted;
  counters["peers.refused_full"] = peers.refused_full;
  counters["peers.refused_hello"] = peers.refused_hello;
  counters["peers.refused_auth"] = peers.refused_auth;
  counters["peers.silent"] = peers.silent;
  for (const auto& [error, count] : peers.protocol_errors) {
    counters["peers.protocol_errors." + std::string(error)] = count;
  }
}

void add_process(v1::Report& report) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  constexpr double kMicro = 1e-6;
  auto& gauges = *report.mutable_gauges();
  gauges["process.cpu_s"] = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                            kMicro * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  gauges["process.rss_max_bytes"] = 1024.0 * static_cast<double>(usage.ru_maxrss);
}

}  // namespace weir::node
