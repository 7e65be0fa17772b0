#include "weir_catch.hpp"
#include <weir/farm_view/live_view.hpp>

namespace weir::farm_view {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::int64_t kSecondNs = 1'000'000'000;

v1::FarmStatus status_at(std::int64_t seconds, std::uint64_t assigned, std::uint64_t bytes) {
  v1::FarmStatus status;
  status.set_state("running");
  status.set_run_ns(seconds * kSecondNs);
  v1::Report& dcm = *status.add_nodes();
  dcm.set_name("dcm-0");
  dcm.set_role(v1::ROLE_DCM);
  dcm.set_incarnation(5);
  dcm.set_now_ns(100 * kSecondNs + seconds * kSecondNs);
  dcm.set_state("running");
  (*dcm.mutable_counters())["dcm.assigned"] = assigned;
  (*dcm.mutable_counters())["fragments.bytes"] = bytes;
  (*dcm.mutable_counters())["fragments.missing.deadline"] = 2;
  (*dcm.mutable_counters())["fragments.missing.source_down"] = 1;
  (*dcm.mutable_gauges())["slices_in_flight"] = 12;
  v1::Report& supervisor = *status.add_nodes();
  supervisor.set_name("supervisor");
  supervisor.set_role(v1::ROLE_SUPERVISOR);
  (*supervisor.mutable_counters())["triggered"] = assigned + 1;
  (*supervisor.mutable_counters())["stored"] = 4;
  (*supervisor.mutable_counters())["rejected"] = 5;
  (*supervisor.mutable_counters())["discarded.no_buffer"] = 6;
  (*supervisor.mutable_counters())["farm.fragments.missing.source_down"] = 2088;
  (*supervisor.mutable_counters())["farm.dcms_lost"] = 1;
  return status;
}

TEST_CASE("the first line counts the whole run's missing fragments, those of ended processes included") {
  LiveRates rates;
  const LiveFrame frame = rates.take(status_at(1, 100, 5000), kSecondNs);
  CHECK(frame.missing == 2088);  // the running DCM counts 3
  CHECK_THAT(format_live(frame, 200, 10).at(0),
             Catch::ContainsSubstring("6 discarded, at least 2088 fragments missing"));
}

TEST_CASE("a process has rates from its second report on") {
  LiveRates rates;
  const LiveFrame first = rates.take(status_at(1, 100, 5000), kSecondNs);
  CHECK(!first.rows.at(0).measured);
  CHECK(format_live(first, 200, 10).at(2) ==
        "  dcm-0                     -          -        12         3  running");
  const LiveRow row = rates.take(status_at(3, 300, 9000), 3 * kSecondNs).rows.at(0);
  CHECK(row.measured);
  CHECK(row.slices_per_s == 100);
  CHECK(row.bytes_per_s == 2000);
  CHECK(row.in_flight == 12);
  CHECK(row.lost == 3);
  CHECK(row.state == "running");
}

TEST_CASE("a status that repeats a report keeps its rates") {
  LiveRates rates;
  (void)rates.take(status_at(1, 100, 5000), kSecondNs);
  (void)rates.take(status_at(2, 150, 5000), 2 * kSecondNs);
  CHECK(rates.take(status_at(2, 150, 5000), 2 * kSecondNs).rows.at(0).slices_per_s == 50);
}

TEST_CASE("the counters of a restarted process begin at zero without a wild rate") {
  LiveRates rates;
  (void)rates.take(status_at(1, 100, 5000), kSecondNs);
  v1::FarmStatus later = status_at(2, 10, 100);
  later.mutable_nodes(0)->set_incarnation(6);
  CHECK(rates.take(later, 2 * kSecondNs).rows.at(0).slices_per_s == 0);
}

TEST_CASE("the run's line has the outcomes of the slices") {
  LiveRates rates;
  const auto lines = format_live(rates.take(status_at(61, 99, 0), 0), 200, 10);
  CHECK(lines.at(0) ==
        "   61.0 s  running: 100 triggered, 4 stored, 5 rejected, 6 discarded, at least 2088 fragments "
        "missing");
}

TEST_CASE("there is a line per process under a heading") {
  LiveRates rates;
  (void)rates.take(status_at(1, 100, 0), 0);
  const auto lines = format_live(rates.take(status_at(2, 1100, 2'500'000), 0), 200, 10);
  REQUIRE(lines.size() == 4);
  CHECK(lines[1] == "  process            slices/s       rate in flight      lost  state");
  CHECK(lines[2] == "  dcm-0                1000.0  2.50 MB/s        12         3  running");
}

TEST_CASE("no line is longer than the screen is wide") {
  LiveRates rates;
  for (const std::string& line : format_live(rates.take(status_at(1, 100, 0), 0), 30, 10))
    CHECK(line.size() <= 30);
}

TEST_CASE("more processes than the screen has lines share one line by role") {
  LiveFrame frame;
  for (int i = 0; i < 4; ++i) {
    LiveRow& row = frame.rows.emplace_back();
    row.name = "readout-" + std::to_string(i);
    row.role = "readout";
    row.state = i == 3 ? "dead: signal 9 (Killed)" : "running";
    row.slices_per_s = 100;
    row.bytes_per_s = 1000;
    row.lost = 1;
  }
  frame.rows[3].measured = false;
  frame.rows[3].slices_per_s = frame.rows[3].bytes_per_s = 0;
  const auto lines = format_live(frame, 200, 3);
  REQUIRE(lines.size() == 3);
  CHECK_THAT(lines[2], ContainsSubstring("4 readouts            100.0  3.00 kB/s         0         4"));
  CHECK_THAT(lines[2], ContainsSubstring("1 dead: signal 9 (Killed), 3 running"));
}

}  // namespace
}  // namespace weir::farm_view
