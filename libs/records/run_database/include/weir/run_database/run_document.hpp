#pragma once

#include <weir/run_database/run_database.hpp>

#include <boost/json/object.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::run_database {

// Returns the records of one run: its row, `good_before` (RunDatabase), `annotations`, `parts` (versions,
// plugins, recordings), `records` (paths of its files), and `end_record`, or null.
[[nodiscard]] boost::json::object document_of(const std::string& folder, const RunRow& row,
                                              const std::vector<run_record::Annotation>& annotations,
                                              std::optional<std::uint32_t> good_before);
// The same for people, with the ledger and the files of the end record.
[[nodiscard]] std::string to_text(const boost::json::object& document);

}  // namespace weir::run_database
