#pragma once

#include <weir/base/time.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/config/problem.hpp>
#include <weir/lab/plan.hpp>

#include <cmath>
#include <cstdint>
#include <string>

// The parts of plan_lab(): hosts and their nodes (lab_planner.cpp), events of a run (lab_events.cpp), and
// settings that exclude each other (lab_checks.cpp).
namespace weir::lab {

// A plan in the making, and the problems so far.
struct LabWork {
  const v1::Lab& lab;
  const config::Locations& locations;
  LabPlan plan = {};
  config::Problems problems = {};

  // Adds a problem of a key of the lab, without "lab.".
  void report(const std::string& key, std::string what,
              config::ProblemKind kind = config::ProblemKind::inconsistent);
  [[nodiscard]] bool is_sound() const { return problems.empty(); }
};

[[nodiscard]] inline std::int64_t lab_ns(double seconds) {
  return std::llround(seconds * static_cast<double>(kSecond));
}

// Plan the events of a run. Require: a plan with hosts and ports.
void add_foreign_traffic(LabWork& work);
void add_changes(LabWork& work);
void add_outages(LabWork& work);
void add_cuts(LabWork& work);

// Report parts of the plan that exclude each other. Require: a plan with hosts and ports.
void check_planes(LabWork& work);
void check_back_pressure(LabWork& work);
void check_software_switches(LabWork& work);

}  // namespace weir::lab
