#include <weir/node/report.hpp>

#include <sys/resource.h>

namespace weir::node {

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
