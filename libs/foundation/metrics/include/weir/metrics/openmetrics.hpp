#pragma once

#include <string>
#include <string_view>

namespace weir::metrics {

inline constexpr const char* kOpenMetricsContentType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// True if a client with this Accept header prefers OpenMetrics to Prometheus' text.
[[nodiscard]] bool accepts_openmetrics(std::string_view accept);
// Converts Prometheus' text (0.0.4) to OpenMetrics 1.0: counters are announced without `_total`, quotes in
// help are escaped, and the text has an end. Requires: HELP comes right before TYPE, and samples of counters
// end in `_total`.
[[nodiscard]] std::string to_openmetrics(std::string_view prometheus);

}  // namespace weir::metrics
