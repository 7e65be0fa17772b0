#pragma once

#include <weir/config/source_groups.hpp>
#include <weir/v1/control.pb.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <string>
#include <vector>

namespace weir::run_record {

// Returns the fairness index of the received bytes of each source of a report.
[[nodiscard]] double byte_fairness(const v1::SourceCounts& counts);
// Returns the index of the received share of each source's received and lost fragments. Sizes do not matter:
// 1 without losses.
[[nodiscard]] double delivery_fairness(const v1::SourceCounts& counts);

// Returns the counts of the sources, of a supervisor's report, as in a run's summary: `losing`, `left_out`,
// `partial`, `incomplete`, `fairness`, `delivery_fairness`, and `rows`, the worst first.
[[nodiscard]] boost::json::object sources_json(const v1::SourceCounts& counts);
// Returns the groups (`source.groups`) that have sources with missing fragments: `name`, `sources`, `losing`
// and `missing`; most losing sources first. Sources without a row in the report do not count as losing.
[[nodiscard]] boost::json::array losing_groups(const v1::SourceCounts& counts,
                                               const std::vector<config::SourceGroupPlan>& groups);
// The same as sources_json() for people: a heading and a line for each row.
[[nodiscard]] std::string sources_text(const v1::SourceCounts& counts);

}  // namespace weir::run_record
