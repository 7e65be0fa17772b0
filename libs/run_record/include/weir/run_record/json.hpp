#pragma once

#include <boost/json/value.hpp>

#include <string>

namespace weir::run_record {

// JSON for people and programs: two spaces an indent, keys in order of insertion, numbers as short as they
// can be read back exactly. Numbers that JSON cannot write (not a number, infinite) become null.
[[nodiscard]] std::string pretty(const boost::json::value& value);
// The same on one line, without an end of line.
[[nodiscard]] std::string one_line(const boost::json::value& value);

}  // namespace weir::run_record
