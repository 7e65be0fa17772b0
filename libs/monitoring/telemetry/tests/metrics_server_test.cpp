#include "weir_catch.hpp"
#include <weir/http/client.hpp>
#include <weir/telemetry/metrics_server.hpp>
#include <weir/v1/control.pb.h>

using namespace weir;
using namespace weir::telemetry;
using Catch::ContainsSubstring;

TEST_CASE("the latest report is served, with the labels of its node and run") {
  MetricsServer server({"127.0.0.1", 0}, "lab");
  const std::string url = "127.0.0.1:" + std::to_string(server.endpoint().port) + "/metrics";
  CHECK_THAT(http::get(url)->body, ContainsSubstring("weir_metrics_requests_total{farm=\"lab\"} 0"));
  v1::Report report;
  report.set_name("writer-0");
  report.set_role(v1::ROLE_WRITER);
  for (std::uint64_t i = 1; i <= 2; ++i) {
    (*report.mutable_counters())["writer.records"] = i;
    server.take(report, 9);
  }
  const auto got = http::get(url);
  REQUIRE(got.has_value());
  CHECK_THAT(got->body,
             ContainsSubstring("weir_writer_records_total{farm=\"lab\",node=\"writer-0\",role=\"writer\",run="
                               "\"9\"} 2"));
  CHECK_THAT(got->body, ContainsSubstring("weir_report_age_seconds{farm=\"lab\",node=\"writer-0\""));
  CHECK_THAT(got->body,
             !ContainsSubstring("weir_writer_records_total{farm=\"lab\",node=\"writer-0\",role=\"writer\","
                                "run=\"9\"} 1"));
}
