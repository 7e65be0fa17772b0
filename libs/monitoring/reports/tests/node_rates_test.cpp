#include "weir_catch.hpp"
#include <weir/reports/node_rates.hpp>
#include <weir/reports/numbers.hpp>

using namespace weir;
using namespace weir::reports;

namespace {

v1::Report dcm_at(std::int64_t second, std::uint64_t slices, double cpu_s = 0) {
  v1::Report report;
  report.set_role(v1::ROLE_DCM);
  report.set_incarnation(5);
  report.set_now_ns(100 * kSecond + second * kSecond);
  ReportCounters counters(report);
  counters["dcm.assigned"] = slices;
  counters["fragments.bytes"] = 1000 * slices;
  Gauges gauges(report);
  gauges["process.cpu_s"] = cpu_s;
  metrics::ValueHistogram built_us;
  built_us.record(50, slices);
  add_histogram(report, "build_latency_us", built_us);
  return report;
}

}  // namespace

TEST_CASE("rates are those from one report to the next, by the node's clock") {
  NodeRates rates;
  rates.take(dcm_at(1, 100, 1), kSecond);
  CHECK_FALSE(rates.measured());
  rates.take(dcm_at(3, 300, 2), 2 * kSecond);
  REQUIRE(rates.measured());
  CHECK(rates.slices_per_s() == 100);
  CHECK(rates.bytes_per_s() == 100'000);
  CHECK(rates.cores() == 0.5);
  CHECK(rates.built_us().count() == 200);
}

TEST_CASE("an unrenewed report keeps its rates for three intervals, a short one for a second") {
  NodeRates rates;
  rates.take(dcm_at(1, 100), 0);
  rates.take(dcm_at(3, 300), 2 * kSecond);
  rates.take(dcm_at(3, 300), 8 * kSecond);
  CHECK(rates.measured());
  rates.take(dcm_at(3, 300), 8 * kSecond + 1);
  CHECK_FALSE(rates.measured());
  // The next report is compared with the last one, however old that is.
  rates.take(dcm_at(13, 400), 12 * kSecond);
  CHECK(rates.slices_per_s() == 10);

  v1::Report soon = dcm_at(13, 410);
  soon.set_now_ns(soon.now_ns() + kMillisecond);
  rates.take(soon, 12 * kSecond + kMillisecond);
  rates.take(soon, 13 * kSecond);
  CHECK(rates.measured());
  rates.take(soon, 14 * kSecond);
  CHECK_FALSE(rates.measured());
}

TEST_CASE("a final report that is shown again has no rates") {
  NodeRates rates;
  rates.take(dcm_at(1, 100), 0);
  v1::Report last = dcm_at(2, 200);
  last.set_final(true);
  rates.take(last, kSecond);
  CHECK(rates.measured());
  rates.take(last, kSecond);
  CHECK_FALSE(rates.measured());
}

TEST_CASE("a process that was started again, and a new run, count from nought without a wild rate") {
  NodeRates rates;
  rates.take(dcm_at(1, 100), 0);
  rates.take(dcm_at(2, 200), kSecond);
  rates.take(dcm_at(3, 5), 2 * kSecond);  // the next run, in the same process
  CHECK_FALSE(rates.measured());
  CHECK(rates.slices_per_s() == 0);
  rates.take(dcm_at(4, 25), 3 * kSecond);
  CHECK(rates.slices_per_s() == 20);
  v1::Report other = dcm_at(5, 1000);
  other.set_incarnation(6);
  rates.take(other, 4 * kSecond);
  CHECK_FALSE(rates.measured());
  CHECK(rates.built_us().count() == 0);
}

TEST_CASE("the losses of a role are in one number") {
  v1::Report report = dcm_at(1, 1);
  ReportCounters(report).of("fragments.missing.", "deadline") = 2;
  ReportCounters(report).of("fragments.missing.", "source_down") = 1;
  ReportCounters(report).of("fragments.dropped.", "run_ended") = 7;
  CHECK(node_totals(report).lost == 3);
  report.set_role(v1::ROLE_READOUT);
  CHECK(node_totals(report).lost == 7);
}
