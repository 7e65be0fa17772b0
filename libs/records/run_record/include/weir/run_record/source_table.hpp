#pragma once

#include <weir/v1/control.pb.h>

#include <boost/json/object.hpp>

#include <string>

namespace weir::run_record {

// Returns the fairness index of the received bytes of each source of a report.
[[nodiscard]] double byte_fairness(const v1::SourceCounts& counts);
// Returns the index of the received share of each source's received and lost fragments. Sizes do not matter:
// 1 without losses.
[[nodiscard]] double delivery_fairness(const v1::SourceCounts& counts);

// Returns the counts of the sources, of a supervisor's report, as in a run's summary: `losing`, `left_out`,
// `partial`, `incomplete`, `fairness`, `delivery_fairness`, and `rows`, the worst first.
[[nodiscard]] boost::json::object sources_json(const v1::SourceCounts& counts);
// The same for people: a heading and a line for each row.
[[nodiscard]] std::string sources_text(const v1::SourceCounts& counts);

}  // namespace weir::run_record
