#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/run_database/run_database.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::run_database {

struct TrendPoint {
  std::uint32_t run = 0;
  UtcNs begin_utc_ns = 0;
  double value = 0;
};

// Reads numbers of end records, and keeps those that were read: a record does not change. For one thread.
class RunTrend {
 public:
  // Of one call of find().
  static constexpr std::size_t kReadsMax = 32;
  static constexpr std::uint64_t kReadBytesMax = 8U << 20;  // the record that goes beyond is still read
  static constexpr std::uint64_t kRecordBytesMax = 64U
                                                   << 20;  // a longer record counts as one without numbers
  static constexpr std::size_t kKeysMax = 64;              // kept; beyond, all are forgotten
  static constexpr std::size_t kRunsMax = 500;             // of an answer

  struct Answer {
    std::vector<TrendPoint> points;  // oldest first
    bool more = false;               // further records have to be read: call again
  };
  // Returns a number, such as "latency_us.p99", of those of the newest `count` runs that have it. Errors: a
  // sentence.
  [[nodiscard]] Expected<Answer, std::string> find(const RunDatabase& runs, const std::string& key,
                                                   std::size_t count);

 private:
  using Values = std::map<std::uint32_t, std::optional<double>>;  // by run; nullopt: its record has none
  std::map<std::string, Values> known_;                           // by key
};

// Returns the keys of all numbers in the newest end record, sorted; without the run's own number and times.
[[nodiscard]] Expected<std::vector<std::string>, std::string> trend_keys(const RunDatabase& runs);

}  // namespace weir::run_database
