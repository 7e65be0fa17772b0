#pragma once

#include <weir/config/expected_sizes.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/node_farm.hpp>
#include <weir/config/plan.hpp>

#include <functional>
#include <string>

namespace weir::config {

// A farm under check, with the problems found so far. The checks below read it and add to it.
class Validation {
 public:
  Validation(const v1::Farm& farm, const Locations& locations)
      : farm_(farm), locations_(locations), node_farms_(farm) {}

  [[nodiscard]] const v1::Farm& farm() const { return farm_; }
  [[nodiscard]] const Locations& locations() const { return locations_; }
  [[nodiscard]] const NodeFarms& node_farms() const { return node_farms_; }

  // Returns the farm as the nodes under check have it; outside of look_at() the common one.
  [[nodiscard]] const v1::Farm& here() const { return kind_ != nullptr ? kind_->farm : farm_; }
  // Runs `look` with here() set to the farm of these nodes; keys in problems are those of their entry.
  void look_at(const NodeFarm& kind, const std::function<void()>& look);
  // Looks at each entry of the role's `nodes`, or at the common settings if it has no entries.
  void for_kinds(Role role, int entries, const std::function<void()>& look);

  // Adds a problem, unless it is known or kProblemsMax are.
  void error(ProblemKind kind, const std::string& key, std::string what);
  void inconsistent(const std::string& key, std::string what);
  void warn(const std::string& key, std::string what);
  void add(const Problems& problems);

  [[nodiscard]] Problems take() { return std::move(problems_); }

 private:
  void add(Severity severity, ProblemKind kind, const std::string& common_key, std::string what);
  [[nodiscard]] std::string key_here(const std::string& common_key) const;

  const v1::Farm& farm_;
  const Locations& locations_;
  const NodeFarms node_farms_;
  const NodeFarm* kind_ = nullptr;
  Problems problems_;
};

// Triggers and their ids, and what push running needs (check_triggers.cpp).
void check_trigger(Validation& found);
void check_trigger_file(Validation& found);
void check_overrun(Validation& found);
void check_push(Validation& found, const FarmPlan& plan);

// The ways to build slices (check_building.cpp).
void check_building(Validation& found);

// Sources, and lists that name them (check_sources.cpp).
void check_hits(Validation& found);
void check_dummy_sizes(Validation& found);
void check_faults(Validation& found);
void check_front_end(Validation& found);
void check_sources(Validation& found, const FarmPlan& plan);
// Returns the contents of the recording that the nodes under check replay; empty if they replay none.
[[nodiscard]] ReplayContents recorded_by(Validation& found, const ReplayReader& replay);
void check_listed_sources(Validation& found, const NodeFarms::Kind& readouts, const ReplayContents& recorded);

// Front-ends' counters and times (check_building.cpp).
void check_steps(Validation& found);
void check_step_offsets(Validation& found, const FarmPlan& plan);

// Counts and memory limits (check_limits.cpp).
void check_dcm_limits(Validation& found);
void check_supervisor(Validation& found);
void check_length(Validation& found);
// Returns the sizes of all readouts together.
ExpectedSizes check_readouts(Validation& found, const FarmPlan& plan, const ReplayReader& replay);
void check_dcms(Validation& found, const FarmPlan& plan, const ExpectedSizes& sizes);
void check_burst(Validation& found, const FarmPlan& plan);
void check_writers(Validation& found, const FarmPlan& plan, const ExpectedSizes& sizes);

// Pairs of times of which one must be below the other (check_times.cpp).
void check_times(Validation& found);
// Windows of time (check_windows.cpp).
void check_windows(Validation& found);
void check_sync_times(Validation& found, const FarmPlan& plan);

// Addresses and ports (check_addresses.cpp).
void check_exposure(Validation& found, const FarmPlan& plan);
void check_ports(Validation& found, const FarmPlan& plan);

// Parallel networks (check_planes.cpp).
void check_planes(Validation& found, const FarmPlan& plan);

}  // namespace weir::config
