#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/run_database/run_database.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::run_database {

struct TrendPoint {
  std::uint32_t run = 0;
  UtcNs begin_utc_ns = 0;
  double value = 0;
};

// Returns a number of the end records, such as "latency_us.p99", over the newest `count` runs that have it,
// oldest first. Errors: a sentence.
[[nodiscard]] Expected<std::vector<TrendPoint>, std::string> trend(const RunDatabase& runs,
                                                                   const std::string& key, std::size_t count);
// Returns the keys of all numbers in the newest end record, sorted; without the run's own number and times.
[[nodiscard]] Expected<std::vector<std::string>, std::string> trend_keys(const RunDatabase& runs);

}  // namespace weir::run_database
