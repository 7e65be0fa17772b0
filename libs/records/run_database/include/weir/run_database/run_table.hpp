#pragma once

#include <weir/run_database/run_database.hpp>

#include <boost/json/object.hpp>

#include <string>

// Lists of runs, for people and for programs. Pure.
namespace weir::run_database {

// Returns a line for each run, the oldest first, below a heading.
[[nodiscard]] std::string to_text(const RunList& list);
// Returns comma-separated values (RFC 4180), the oldest first; each field of the operators has a column.
[[nodiscard]] std::string to_csv(const RunList& list);
// Returns the run's row; times are in ms since 1970, UTC.
[[nodiscard]] boost::json::object to_json(const RunRow& row);
// Returns {"runs": […], "matching": n, "all": n}, the newest first.
[[nodiscard]] boost::json::object to_json(const RunList& list);

}  // namespace weir::run_database
