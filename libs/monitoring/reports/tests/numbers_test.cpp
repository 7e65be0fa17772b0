#include "weir_catch.hpp"
#include <weir/reports/fragment_totals.hpp>
#include <weir/reports/numbers.hpp>

#include <type_traits>

using namespace weir;
using namespace weir::reports;

TEST_CASE("a number is read by the key that wrote it, and an unwritten one is zero") {
  v1::Report report;
  ReportCounters counters(report);
  counters["fragments.held"] = 7;
  counters.of("vetoed.", "paused") = 3;
  counters.of("vetoed.", "throttled") = 0;
  counters.of("vetoed.", "duplicate_id") = 4;
  Gauges gauges(report);
  gauges["shaper.base_us"] = 1.5;
  add_sum(report, "live", {2, 99});
  metrics::ValueHistogram latency;
  latency.record(100, 5);
  add_histogram(report, "latency_us", latency);
  add_histogram(report, "build_latency_us", {});

  CHECK(counter_of(report, "fragments.held") == 7);
  CHECK(counter_of(report, "fragments.served") == 0);
  CHECK(counter_of(report, "vetoed.", "paused") == 3);
  CHECK(counter_of(report, "vetoed.", "nobody") == 0);
  CHECK(total_of(report, "vetoed.") == 7);
  CHECK(by_reason(report, "vetoed.") ==
        std::map<std::string, std::uint64_t>{{"paused", 3}, {"duplicate_id", 4}});
  CHECK(gauge_of(report, "shaper.base_us") == 1.5);
  CHECK_FALSE(gauge_of(report, "shaper.window"));
  CHECK(sum_of(report, "live").hash_sum == 99);
  CHECK(sum_of(report, "stored").count == 0);
  CHECK(histogram_of(report, "latency_us").count() == 5);
  CHECK(histogram_of(report, "build_latency_us").count() == 0);
  CHECK(report.histograms_size() == 1);

  v1::RunSummary account;
  *account.mutable_counters() = report.counters();
  CHECK(counter_of(account, "fragments.held") == 7);
  CHECK(total_of(account, "vetoed.") == 7);
}

TEST_CASE("a histogram that others made up is none") {
  v1::Report report;
  v1::Histogram& odd = *report.add_histograms();
  odd.set_name("latency_us");
  odd.add_bucket(1U << 31U);
  odd.add_count(1);
  CHECK(histogram_of(report, "latency_us").count() == 0);
  odd.add_bucket(1);  // without a count
  CHECK(histogram_of(report, "latency_us").count() == 0);
}

// Keys are checked at compile time: a key that is not in the table makes no constant.
TEST_CASE("each kind of key takes the table's of its kind") {
  static_assert(metrics::CounterKey("fragments.held").text() == "fragments.held");
  static_assert(metrics::FamilyKey("fragments.missing.").text() == "fragments.missing.");
  static_assert(metrics::GaugeKey("shaper.window").text() == "shaper.window");
  static_assert(!std::is_convertible_v<std::string, metrics::CounterKey>);
  static_assert(metrics::find(metrics::Entry::From::counter, "vetoed.paused")->key == "vetoed.");
  static_assert(metrics::find(metrics::Entry::From::gauge, "vetoed.paused") == nullptr);
}

TEST_CASE("fragments of all DCMs and readouts add up, and the supervisor's report preserves them") {
  v1::Report dcm;
  dcm.set_role(v1::ROLE_DCM);
  ReportCounters of_dcm(dcm);
  of_dcm["fragments.requested"] = 10;
  of_dcm["fragments.received"] = 8;
  of_dcm.of("fragments.missing.", "deadline") = 2;
  v1::Report readout;
  readout.set_role(v1::ROLE_READOUT);
  ReportCounters(readout).of("fragments.dropped.", "run_ended") = 4;
  v1::Report writer;
  writer.set_role(v1::ROLE_WRITER);
  ReportCounters of_writer(writer);
  of_writer["fragments.requested"] = 1000;

  FragmentTotals totals;
  totals.add(dcm, false);
  totals.add(dcm, true);  // died without its final report
  totals.add(readout, true);
  totals.add(writer, false);
  dcm.set_final(true);
  totals.add(dcm, true);  // had sent it
  FragmentTotals twice = totals;
  twice.add(totals);

  v1::Report supervisor;
  add_totals(supervisor, twice);
  const FragmentTotals read = fragment_totals(supervisor);
  CHECK(read.requested == 60);
  CHECK(read.received == 48);
  CHECK(read.missing.at("deadline") == 12);
  CHECK(read.dropped.at("run_ended") == 8);
  CHECK(read.dcms_lost == 2);
}
