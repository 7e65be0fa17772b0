#pragma once

#include <weir/base/expected.hpp>
#include <weir/run_database/run_database.hpp>

#include <boost/json/object.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::run_database {

enum class ComparedPart : std::uint8_t { field, setting, plugin, number };
[[nodiscard]] std::string_view name(
    ComparedPart part);  // "fields", "settings", "versions and plugins", "numbers"

// A value that differs between two runs; empty: the run does not have it.
struct Difference {
  ComparedPart part = ComparedPart::field;
  std::string key;
  std::string left;
  std::string right;
  std::optional<double> change;  // of numbers: right / left - 1
};

struct Comparison {
  std::vector<Difference> differences;  // by part, then by key
  std::vector<std::string> missing;     // records that cannot be read
};

// Compares fields, settings, plugins and numbers of two runs, from their records in `folder`.
[[nodiscard]] Comparison compare(const std::string& folder, const RunRow& left, const RunRow& right);
// Numbers that change by less than `change_min` are left out.
[[nodiscard]] std::string to_text(const Comparison& comparison, const RunRow& left, const RunRow& right,
                                  double change_min);
[[nodiscard]] boost::json::object to_json(const Comparison& comparison);

}  // namespace weir::run_database
