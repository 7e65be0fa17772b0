#pragma once

#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/lab/plan.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace weir::lab {

inline Expected<LabPlan, config::Problems> try_plan(const std::string& lab, const std::string& farm = {}) {
  auto lab_file = config::read_lab(lab, "lab.yaml");
  if (!lab_file) return Unexpected<config::Problems>(lab_file.error());
  if (farm.empty()) return plan_lab(*lab_file, nullptr);
  const auto farm_file = config::read_farm(farm, "farm.yaml");
  REQUIRE(farm_file.has_value());
  const auto farm_plan = config::expand(farm_file->farm, farm_file->locations);
  REQUIRE(farm_plan.has_value());
  return plan_lab(*lab_file, &*farm_plan);
}

inline LabPlan plan_of(const std::string& lab, const std::string& farm = {}) {
  auto plan = try_plan(lab, farm);
  INFO((plan ? "" : config::to_text(plan.error())));
  REQUIRE(plan.has_value());
  return std::move(*plan);
}

inline std::string problems_of(const std::string& lab, const std::string& farm = {}) {
  const auto plan = try_plan(lab, farm);
  return plan ? std::string() : config::to_text(plan.error());
}

inline const Port* find_port(const LabPlan& plan, const std::string& name) {
  const auto found =
      std::find_if(plan.ports.begin(), plan.ports.end(), [&](const Port& port) { return port.name == name; });
  return found == plan.ports.end() ? nullptr : &*found;
}

}  // namespace weir::lab
