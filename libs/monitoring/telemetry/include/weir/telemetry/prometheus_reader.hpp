#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/v1/control.pb.h>

#include <string>
#include <string_view>

namespace weir::telemetry {

struct Scraped {
  v1::Report report;      // without incarnation and time
  DurationNs age_ns = 0;  // of the numbers
};

// Converts the output of prometheus_text() back to a report, with the numbers of metrics' table. Latencies
// are reduced to the bounds below which they were counted (three per power of ten). Errors: the text is not
// from a node, or has no report yet.
[[nodiscard]] Expected<Scraped, std::string> read_prometheus(std::string_view text);

}  // namespace weir::telemetry
