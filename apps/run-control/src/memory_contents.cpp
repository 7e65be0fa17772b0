#include "memory_contents.hpp"

namespace weir::run_control {
namespace {

template <class List>
FarmSetup::Overrides overrides_of(const List& assignments, const List& origins) {
  FarmSetup::Overrides overrides;
  for (int i = 0; i < assignments.size(); ++i)
    overrides.push_back({assignments[i], i < origins.size() ? origins[i] : std::string(kBySet)});
  return overrides;
}

void add(const FarmSetup::Overrides& overrides, google::protobuf::RepeatedPtrField<std::string>& assignments,
         google::protobuf::RepeatedPtrField<std::string>& origins) {
  for (const FarmSetup::Override& one : overrides) {
    assignments.Add(std::string(one.assignment));
    origins.Add(std::string(one.origin));
  }
}

}  // namespace

void add_farm(const control::Remembered& farm, v1::ControlMemory& memory) {
  memory.set_goal(std::string(control::name(farm.goal)));
  memory.set_run(farm.run.value);
  memory.set_epoch(farm.epoch);
  memory.set_run_open(farm.run_open);
  for (const control::Remembered::Removed& one : farm.removed) {
    memory.add_excluded(one.name);
    memory.add_excluded_by(one.by);
  }
}

control::Remembered farm_of(const v1::ControlMemory& memory) {
  control::Remembered kept;
  kept.goal = control::state_of(memory.goal()).value_or(control::State::idle);
  kept.run = RunNumber(memory.run());
  kept.epoch = memory.epoch();
  kept.run_open = memory.run_open();
  for (int i = 0; i < memory.excluded_size(); ++i)
    kept.removed.push_back(
        {memory.excluded(i), i < memory.excluded_by_size() ? memory.excluded_by(i) : std::string()});
  return kept;
}

void add_settings(const FarmSetup::Remembered& settings, v1::ControlMemory& memory) {
  add(settings.wanted, *memory.mutable_sets(), *memory.mutable_set_by());
  add(settings.configured, *memory.mutable_configured_sets(), *memory.mutable_configured_by());
  for (const std::string& one : settings.run_sets) memory.add_run_sets(one);
  memory.set_farm_digest(settings.digest);
}

FarmSetup::Remembered settings_of(const v1::ControlMemory& memory, const std::string& farm_yaml) {
  return {overrides_of(memory.sets(), memory.set_by()),
          overrides_of(memory.configured_sets(), memory.configured_by()),
          {memory.run_sets().begin(), memory.run_sets().end()},
          memory.farm_digest(),
          farm_yaml};
}

}  // namespace weir::run_control
