#pragma once

#include <weir/v1/control.pb.h>

#include <boost/json/object.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::run_record {

// Returns Jain's fairness index of the bytes of sources or DCMs: (sum of x)^2 / (n x sum of x^2), 1 if all
// are equal, 1/n if one has all. 0 if none has any.
[[nodiscard]] double fairness_of(std::span<const std::uint64_t> bytes);
// Returns the received bytes of each source of a report.
[[nodiscard]] std::vector<std::uint64_t> bytes_of_sources(const v1::SourceCounts& counts);

// Returns the counts of the sources, of a supervisor's report, as in a run's summary: `losing`, `left_out`,
// `partial`, `incomplete`, `fairness`, and `rows`, the worst first.
[[nodiscard]] boost::json::object sources_json(const v1::SourceCounts& counts);
// The same for people: a heading and a line for each row.
[[nodiscard]] std::string sources_text(const v1::SourceCounts& counts);

}  // namespace weir::run_record
