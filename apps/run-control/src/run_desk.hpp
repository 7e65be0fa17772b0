#pragma once

#include <weir/base/expected.hpp>
#include <weir/run_database/run_database.hpp>
#include <weir/run_database/run_trend.hpp>

#include <map>
#include <string>

namespace weir::run_control {

// Answers the page's questions about the runs of a folder with JSON. For the page's thread. Errors are
// sentences.
class RunDesk {
 public:
  using Query = std::map<std::string, std::string>;
  using Answer = Expected<std::string, std::string>;

  explicit RunDesk(std::string folder) : database_(std::move(folder)) {}

  // Keys: since, until, outcome, type, shifter, quality, text, limit.
  [[nodiscard]] Answer find(const Query& query);
  // Keys: number; with: compares with that run.
  [[nodiscard]] Answer show(const Query& query);

  // Key: key, a number of the end records: its values over the newest `last` (200) runs, with `more` if not
  // all records are read yet; without `key`, the names of all such numbers.
  [[nodiscard]] Answer trend(const Query& query);

 private:
  [[nodiscard]] Expected<run_database::RunRow, std::string> row(const Query& query, const char* key) const;

  run_database::RunDatabase database_;
  run_database::RunTrend trend_;
};

}  // namespace weir::run_control
