#pragma once

#include <weir/v1/control.pb.h>

#include <boost/json/object.hpp>

#include <string>

namespace weir::run_record {

// Returns the counts of the sources, of a supervisor's report, as in a run's summary: `losing`, `left_out`,
// `partial`, `incomplete`, and `rows`, the worst first.
[[nodiscard]] boost::json::object sources_json(const v1::SourceCounts& counts);
// The same for people: a heading and a line for each row.
[[nodiscard]] std::string sources_text(const v1::SourceCounts& counts);

}  // namespace weir::run_record
