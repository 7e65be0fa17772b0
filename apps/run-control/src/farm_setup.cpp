#include "farm_setup.hpp"

#include <weir/node/recordings.hpp>
#include <weir/node/setup.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weir::run_control {
namespace {

std::string key_of(const std::string& set) { return set.substr(0, set.find('=')); }

bool has_same_processes(const config::FarmPlan& one, const config::FarmPlan& other) {
  return std::equal(one.nodes.begin(), one.nodes.end(), other.nodes.begin(), other.nodes.end(),
                    [](const auto& a, const auto& b) { return a.name == b.name && a.masked == b.masked; });
}

}  // namespace

FarmSetup::FarmSetup(std::string path, Sets command_line)
    : path_(std::move(path)), command_line_(std::move(command_line)), digest_(node::farm_digest(path_)) {
  auto first = read({});
  if (!first) throw std::runtime_error(first.error());
  farm_ = std::move(first->farm);
  plan_ = std::move(first->plan);
  file_ = farm_;
}

Expected<FarmSetup::Read, std::string> FarmSetup::read(const Sets& more) const {
  const auto failed = [](const config::Problems& problems) {
    return Unexpected<std::string>(config::to_text(problems));
  };
  auto file = config::load_farm(path_);
  if (!file) return failed(file.error());
  for (const Sets* list : {&command_line_, &more}) {
    for (const std::string& one : *list) {
      if (const auto problems = config::apply_override(file->farm, one, &file->locations); !problems.empty())
        return failed(problems);
    }
  }
  config::Problems problems = config::validate(file->farm, file->locations, node::read_recording);
  std::erase_if(problems, [](const config::Problem& one) { return one.severity != config::Severity::error; });
  if (!problems.empty()) return failed(problems);
  auto plan = config::expand(file->farm, file->locations, node::read_recording);
  if (!plan) return failed(plan.error());
  return Read{std::move(file->farm), std::move(*plan)};
}

std::string FarmSetup::take(const Sets& sets) {
  auto now = read(sets);
  if (!now) return now.error();
  if (!has_same_processes(now->plan, plan_))
    return "the farm would have other processes with that: change the farm file, and start run control anew";
  farm_ = std::move(now->farm);
  plan_ = std::move(now->plan);
  sets_ = sets;
  return {};
}

std::string FarmSetup::set(const Sets& wanted) {
  Sets sets = sets_;
  for (const std::string& one : wanted) {
    const std::string key = key_of(one);
    if (key.starts_with("control.") || key == "farm") return key + " cannot be set while the farm is there";
    std::erase_if(sets, [&](const std::string& old) { return key_of(old) == key; });
    sets.push_back(one);
  }
  return take(sets);
}

std::string FarmSetup::configure(const Sets& wanted) {
  std::string digest = node::farm_digest(path_);
  if (std::string error = set(wanted); !error.empty()) return error;
  digest_ = std::move(digest);
  return {};
}

std::string FarmSetup::check_run_sets(const Sets& wanted) const {
  v1::Farm trial = farm_;
  for (const std::string& one : wanted) {
    const std::string key = key_of(one);
    if (key != "run.slices" && key != "run.duration_s")
      return key + ": start takes run.slices and run.duration_s; everything else is set with `configure`";
    if (const auto problems = config::apply_override(trial, one); !problems.empty())
      return config::to_text(problems);
  }
  return {};
}

std::string FarmSetup::recall(const Sets& sets, Sets run_sets) {
  run_sets_ = std::move(run_sets);
  return take(sets);
}

v1::Farm FarmSetup::of_run(RunNumber run) const {
  v1::Farm farm = farm_;
  farm.mutable_run()->set_number(run.value);
  for (const std::string& one : run_sets_) (void)config::apply_override(farm, one);  // checked
  return farm;
}

}  // namespace weir::run_control
