#pragma once

#include <cstdint>
#include <string>

namespace weir::v1 {
class Report;
}

namespace weir::telemetry {

// Labels of every sample.
struct MetricLabels {
  std::string farm;
  std::string node;
  std::string role;
  std::uint32_t run = 0;
};

// The content type of the text (Prometheus' text format 0.0.4).
constexpr const char* kPrometheusContentType = "text/plain; version=0.0.4; charset=utf-8";

// Formats a report as Prometheus' text: every counter, gauge and histogram of it, by metrics::kTable; keys
// missing in the table get a name derived from the key. Histograms of us become buckets in seconds, three per
// power of ten from 10 us to 100 s. A value counts below a bound if its bucket in the report (1/32 wide) ends
// there, so at most 3 % of a bound's values are one bucket too high. A metric with its reason in a label is
// announced (HELP, TYPE) even without counts.
[[nodiscard]] std::string prometheus_text(const v1::Report& report, const MetricLabels& labels);

// Returns "a\"b
// " as a label's value: quotes, backslashes and line ends are escaped.
[[nodiscard]] std::string escape_label(const std::string& value);

}  // namespace weir::telemetry
