#include "weir_catch.hpp"
#include <weir/metrics/table.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/telemetry/prometheus.hpp>
#include <weir/telemetry/prometheus_reader.hpp>

using namespace weir;
using namespace weir::telemetry;

namespace {

const MetricLabels kLabels{"lab", "dcm-0", "dcm", 7};

}  // namespace

TEST_CASE("every number of the table survives being exported and read") {
  v1::Report report;
  report.set_role(v1::ROLE_DCM);
  report.set_state("running");
  std::uint64_t value = 1;
  for (const metrics::Entry& entry : metrics::kTable) {
    const std::string key = std::string(entry.key) + (entry.is_family() ? "a \"b\\c\"\n," : "");
    ++value;
    switch (entry.from) {
      case metrics::Entry::From::counter:
        (*report.mutable_counters())[key] = value;
        break;
      case metrics::Entry::From::gauge:
        (*report.mutable_gauges())[key] = static_cast<double>(value);
        break;
      case metrics::Entry::From::sum:
        (*report.mutable_sums())[key].set_count(value);
        break;
      case metrics::Entry::From::histogram: {
        metrics::ValueHistogram one;
        one.record(90, value);
        reports::add_histogram(report, entry, one);
        break;
      }
    }
  }
  const auto read = read_prometheus(prometheus_text(report, kLabels));
  REQUIRE(read);
  CHECK(read->report.name() == "dcm-0");
  CHECK(read->report.role() == v1::ROLE_DCM);
  CHECK(read->report.state() == "running");
  for (const auto& [key, count] : report.counters()) {
    INFO(key);
    REQUIRE(read->report.counters().contains(key));
    CHECK(read->report.counters().at(key) == count);
  }
  for (const auto& [key, level] : report.gauges()) {
    INFO(key);
    REQUIRE(read->report.gauges().contains(key));
    CHECK(read->report.gauges().at(key) == Approx(level));
  }
  for (const auto& [key, sum] : report.sums()) {
    INFO(key);
    REQUIRE(read->report.sums().contains(key));
    CHECK(read->report.sums().at(key).count() == sum.count());
  }
  const metrics::ValueHistogram built = reports::histogram_of(read->report, "build_latency_us");
  CHECK(built.count() == reports::histogram_of(report, "build_latency_us").count());
  CHECK(built.max() == 100);  // the upper bound of 90 us
}

TEST_CASE("a report's age comes with it, and odd lines are ignored") {
  const std::string node = "weir_node_state{node=\"w\",role=\"writer\",state=\"running\"} 1\n";
  const auto read =
      read_prometheus(node + "weir_report_age_seconds{} 1.5\nweir_writer_records_total 1e300\n" +
                      "weir_writer_in_bytes_total -5\nweir_writer_syncs_total{a=\"} 7\ngo_x 1\n" +
                      "weir_writer_appends_total nonsense\nweir_slice_build_seconds_bucket{le=\"nan\"} 3\n");
  REQUIRE(read);
  CHECK(read->age_ns == 1500 * kMillisecond);
  CHECK(read->report.role() == v1::ROLE_WRITER);
  CHECK(reports::counter_of(read->report, "writer.records") == 0);
  CHECK(reports::counter_of(read->report, "writer.bytes_in") == 0);
  CHECK_FALSE(read->report.counters().contains("writer.syncs"));
  CHECK_FALSE(read->report.counters().contains("writer.appends"));
  CHECK_FALSE(read_prometheus(""));
  CHECK_FALSE(read_prometheus("weir_report_age_seconds 1\n"));
}
