#pragma once

#include <boost/json/value.hpp>

#include <string>

namespace weir::run_record {

// Formats JSON for people and programs: an indent of two spaces, keys in order of insertion, numbers in the
// shortest exact form. Numbers that JSON cannot represent (not a number, infinite) become null.
[[nodiscard]] std::string pretty(const boost::json::value& value);
// The same on one line, without a line end.
[[nodiscard]] std::string one_line(const boost::json::value& value);

}  // namespace weir::run_record
