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

// What prometheus_text() made of a report, as a report again: numbers that metrics' table has. Of a latency's
// value is left the bound below which it was counted (three to each power of ten). Error, a sentence: it is
// no node's, or there is no report yet.
[[nodiscard]] Expected<Scraped, std::string> read_prometheus(std::string_view text);

}  // namespace weir::telemetry
