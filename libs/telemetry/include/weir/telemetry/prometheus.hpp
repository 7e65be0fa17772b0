#pragma once

#include <cstdint>
#include <string>

namespace weir::v1 {
class Report;
}

namespace weir::telemetry {

// What stands at every sample.
struct MetricLabels {
  std::string farm;
  std::string node;
  std::string role;
  std::uint32_t run = 0;
};

// The content type of the text (Prometheus' text format 0.0.4).
constexpr const char* kPrometheusContentType = "text/plain; version=0.0.4; charset=utf-8";

// A report as Prometheus' text: every counter, gauge and histogram of it, by metrics::kTable; what the table
// does not know goes under a name made from its key. Histograms of us become buckets in seconds, three to
// each power of ten from 10 us to 100 s: a value counts below a bound when its bucket in the report (1/32
// wide) ends there, so at most 3 % of a bound's values stand one bucket too high. A metric that has its
// reason in a label is announced (HELP, TYPE) also while nothing was counted.
[[nodiscard]] std::string prometheus_text(const v1::Report& report, const MetricLabels& labels);

// "a\"b\n" as a label's value: quotes, backslashes and line ends are escaped.
[[nodiscard]] std::string escape_label(const std::string& value);

}  // namespace weir::telemetry
