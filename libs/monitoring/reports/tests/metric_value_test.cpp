#include "weir_catch.hpp"
#include <weir/reports/metric_value.hpp>
#include <weir/reports/numbers.hpp>

namespace weir::reports {

TEST_CASE("a metric's value is that of its key in the report, summed over labels, in the exported unit") {
  v1::Report report;
  ReportCounters counters(report);
  counters["writer.records"] = 5;
  counters.of("vetoed.", "paused") = 2;
  counters.of("vetoed.", "throttled") = 3;
  counters.of("throttled_ms.", "WRITER_DISK_FULL") = 1500;
  Gauges gauges(report);
  gauges["slices_in_flight"] = 7;
  CHECK(metric_value(report, "weir_writer_records_total")->value == 5);
  CHECK(metric_value(report, "weir_writer_records_total")->grows);
  CHECK(metric_value(report, "weir_triggers_vetoed_total")->value == 5);
  CHECK(metric_value(report, "weir_throttled_seconds_total")->value == 1.5);
  CHECK(metric_value(report, "weir_slices_in_flight")->value == 7);
  CHECK_FALSE(metric_value(report, "weir_slices_in_flight")->grows);
  CHECK_FALSE(metric_value(report, "weir_writer_syncs_total"));
  CHECK_FALSE(metric_value(report, "weir_slice_build_seconds"));
  CHECK_FALSE(metric_value(report, "slices_in_flight"));
}

}  // namespace weir::reports
