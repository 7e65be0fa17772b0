#pragma once

#include "sql.hpp"
#include <weir/run_database/run_database.hpp>
#include <weir/run_record/annotations.hpp>

#include <cstdint>
#include <optional>
#include <vector>

// Reading the tables of runs and annotations.
namespace weir::run_database {

[[nodiscard]] RunList find(const Sql& sql, const RunQuery& query);
[[nodiscard]] std::optional<RunRow> find(const Sql& sql, std::uint32_t run);
// Returns the last good run before this one, of its type if there is one, and not of bad quality.
[[nodiscard]] std::optional<std::uint32_t> good_before(const Sql& sql, const RunRow& row);
[[nodiscard]] std::vector<run_record::Annotation> annotations(const Sql& sql, std::uint32_t run);

}  // namespace weir::run_database
