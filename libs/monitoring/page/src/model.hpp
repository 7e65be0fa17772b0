#pragma once

#include "log_ring.hpp"
#include <weir/page/state.hpp>
#include <weir/reports/node_rates.hpp>

#include <cstddef>
#include <deque>
#include <map>
#include <string>

namespace weir::page {

// The page's view of the farm: states in, JSON out. Pure; not thread-safe. libs/monitoring/page/README.md
// describes the JSON.
class Model {
 public:
  struct Limits {
    std::size_t history_max = 600;
    std::size_t runs_max = 200;
  };
  explicit Model(const Limits& limits) : limits_(limits) {}

  // Computes the rates from the previous state to this one.
  void update(const Farm& farm);
  // Returns the state of the last update. `can_command`: a token is configured.
  [[nodiscard]] std::string state_json(bool can_command) const;
  [[nodiscard]] const Farm& farm() const { return farm_; }
  // Returns the points of the plots, the oldest first.
  [[nodiscard]] std::string history_json() const;
  [[nodiscard]] std::string runs_json() const;

 private:
  struct Point {
    UtcNs utc_ns = 0;
    std::uint32_t run = 0;
    bool measured = false;
    double triggered_per_s = 0;
    double assigned_per_s = 0;  // by the counts of the DCMs that are connected
    bool assigned_known = false;
    double stored_per_s = 0;
    double rejected_per_s = 0;
    double built_bytes_per_s = 0;
    double stored_bytes_per_s = 0;
    std::uint64_t built = 0;  // slices in the percentiles
    std::uint64_t p50_us = 0;
    std::uint64_t p99_us = 0;
    std::uint64_t max_us = 0;
  };
  [[nodiscard]] Point make_point() const;

  Limits limits_;
  Farm farm_;
  std::map<std::string, reports::NodeRates> rates_;  // of the current members
  std::deque<Point> history_;
  friend struct ModelJson;
};

[[nodiscard]] std::string log_json(const LogRing::Entry& entry);
[[nodiscard]] std::string logs_json(const LogRing& ring, const LogRing::Query& query);

}  // namespace weir::page
