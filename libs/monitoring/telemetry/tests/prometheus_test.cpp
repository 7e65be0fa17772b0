#include "weir_catch.hpp"
#include <weir/metrics/histogram.hpp>
#include <weir/telemetry/prometheus.hpp>
#include <weir/v1/control.pb.h>

using namespace weir;
using namespace weir::telemetry;
using Catch::ContainsSubstring;

namespace {

const MetricLabels kNodeLabels{"lab", "dcm-0", "dcm", 7};
constexpr const char* kOwn = "farm=\"lab\",node=\"dcm-0\",role=\"dcm\",run=\"7\"";

std::string line(const std::string& name, const std::string& more, const std::string& value) {
  return name + "{" + kOwn + more + "} " + value + "\n";
}

}  // namespace

TEST_CASE("counters, gauges and sums are exported under their names, in base units") {
  v1::Report report;
  (*report.mutable_counters())["fragments.received"] = 18'000'000'000'000'000'001U;
  (*report.mutable_counters())["fragments.missing.deadline"] = 3;
  (*report.mutable_gauges())["shaper.base_us"] = 250;
  (*report.mutable_sums())["stored"].set_count(12);
  report.set_state("running");
  const std::string text = prometheus_text(report, kNodeLabels);
  CHECK_THAT(text, ContainsSubstring(line("weir_fragments_received_total", "", "18000000000000000001")));
  CHECK_THAT(text, ContainsSubstring(line("weir_fragments_missing_total", ",reason=\"deadline\"", "3")));
  CHECK_THAT(text, ContainsSubstring("# TYPE weir_shaper_base_seconds gauge\n"));
  CHECK_THAT(text, ContainsSubstring(line("weir_shaper_base_seconds", "", "0.00025")));
  CHECK_THAT(text, ContainsSubstring(line("weir_dcm_slices_stored_total", "", "12")));
  CHECK_THAT(text, ContainsSubstring(line("weir_node_state", ",state=\"running\"", "1")));
}

TEST_CASE("the 20 worst sources are exported by reason, of the supervisor only") {
  v1::Report report;
  report.set_role(v1::ROLE_SUPERVISOR);
  v1::SourceCounts::Reason& gap = *report.mutable_sources()->add_missing();
  gap.set_name("gap");
  report.mutable_sources()->add_readout_name("readout-3");
  for (std::uint32_t i = 0; i < 30; ++i) {
    report.mutable_sources()->add_source(100 + i);
    report.mutable_sources()->add_readout(0);
    gap.add_row(i);
    gap.add_count(500 - i);
  }
  const std::string name = "weir_source_fragments_missing";
  const auto labels = [](int source) {
    return ",source=\"" + std::to_string(source) + "\",readout=\"readout-3\",reason=\"gap\"";
  };
  const std::string text = prometheus_text(report, kNodeLabels);
  CHECK_THAT(text, ContainsSubstring(line(name, labels(100), "500")));
  CHECK_THAT(text, ContainsSubstring(line(name, labels(119), "481")));
  CHECK_THAT(text, !ContainsSubstring(labels(120)));
  report.set_role(v1::ROLE_DCM);
  CHECK_THAT(prometheus_text(report, kNodeLabels), !ContainsSubstring(name));
}

TEST_CASE("a state with numbers is exported as one of a few, to keep databases small") {
  v1::Report report;
  report.set_state("throttled: readout_buffer_bytes");
  CHECK_THAT(prometheus_text(report, kNodeLabels), ContainsSubstring("state=\"throttled\""));
  report.set_state("the disk stalls since 12 s");
  CHECK_THAT(prometheus_text(report, kNodeLabels), ContainsSubstring("state=\"other\""));
}

TEST_CASE("a metric with reasons is announced before anything was counted, of this role only") {
  const std::string text = prometheus_text({}, kNodeLabels);
  CHECK_THAT(text, ContainsSubstring("# TYPE weir_fragments_missing_total counter\n"));
  CHECK_THAT(text,
             !ContainsSubstring("weir_slices_discarded_total") && !ContainsSubstring("weir_source_total"));
}

TEST_CASE("numbers without a description are exported as well") {
  v1::Report report;
  (*report.mutable_counters())["new.thing-2"] = 5;
  CHECK_THAT(prometheus_text(report, kNodeLabels),
             ContainsSubstring(line("weir_new_thing_2_total", "", "5")));
}

TEST_CASE("a latency becomes cumulative buckets in seconds, the last of which is the count") {
  metrics::ValueHistogram built;
  built.record(10, 5);
  built.record(900, 3);
  built.record(1'000'000'000, 1);  // beyond the last bound
  v1::Report report;
  v1::Histogram& out = *report.add_histograms();
  out.set_name("build_latency_us");
  for (const auto& bucket : built.encode().buckets) out.add_bucket(bucket.index), out.add_count(bucket.count);
  out.set_sum(built.sum());
  const std::string text = prometheus_text(report, kNodeLabels);
  CHECK_THAT(text, ContainsSubstring("# TYPE weir_slice_build_seconds histogram\n"));
  CHECK_THAT(text, ContainsSubstring(line("weir_slice_build_seconds_bucket", ",le=\"1e-05\"", "5")));
  CHECK_THAT(text, ContainsSubstring(line("weir_slice_build_seconds_bucket", ",le=\"0.0005\"", "5")));
  CHECK_THAT(text, ContainsSubstring(line("weir_slice_build_seconds_bucket", ",le=\"0.001\"", "8")));
  CHECK_THAT(text, ContainsSubstring(line("weir_slice_build_seconds_bucket", ",le=\"100\"", "8")));
  CHECK_THAT(text, ContainsSubstring(line("weir_slice_build_seconds_bucket", ",le=\"+Inf\"", "9")));
  CHECK_THAT(text, ContainsSubstring(line("weir_slice_build_seconds_count", "", "9")));
  CHECK_THAT(text, ContainsSubstring(line("weir_slice_build_seconds_sum", "", "1000.00275")));
}

TEST_CASE("a malformed histogram costs itself only") {
  v1::Report report;
  v1::Histogram& out = *report.add_histograms();
  out.set_name("latency_us");
  out.add_bucket(1ULL << 60);
  out.add_count(4);
  out.add_bucket(3);
  CHECK_THAT(prometheus_text(report, kNodeLabels), !ContainsSubstring("weir_slice_collect_seconds"));
  out.add_count(1);
  CHECK_THAT(prometheus_text(report, kNodeLabels), ContainsSubstring("weir_slice_collect_seconds_count"));
}

TEST_CASE("label values cannot end their quotes") { CHECK(escape_label("a\"b\\c\nd") == "a\\\"b\\\\c\\nd"); }
