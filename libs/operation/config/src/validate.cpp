#include "dcm_groups.hpp"
#include "validation.hpp"
#include <weir/config/alarms.hpp>
#include <weir/config/folder_name.hpp>
#include <weir/config/hooks.hpp>
#include <weir/config/quality.hpp>
#include <weir/config/rules.hpp>
#include <weir/config/source_groups.hpp>

#include <string>
#include <unordered_map>
#include <utility>

namespace weir::config {
namespace {

void check_folder(Validation& found, const std::string& key, const std::string& name) {
  if (std::string why = folder_name_problem(name); !why.empty())
    found.error(ProblemKind::bad_value, key, std::move(why));
}

void check_texts(Validation& found) {
  const v1::Farm& farm = found.farm();
  if (farm.include_size() > 0)
    found.error(ProblemKind::inconsistent, "include", "only a farm file includes others");
  if (farm.run().out().empty()) found.error(ProblemKind::missing_key, "run.out", "needs a directory");
  check_folder(found, "run.out", farm.run().out());
  check_folder(found, "control.out", farm.control().out());
  check_folder(found, "burst.folder", farm.burst().folder());
  check_folder(found, "trigger.file", farm.trigger().file());
  check_folder(found, "trigger.key_file", farm.trigger().key_file());
  const auto check_plugin = [&](const std::string& key, const auto& settings) {
    check_folder(found, key + ".plugin", settings.plugin());
    for (int i = 0; i < settings.search_path_size(); ++i)
      check_folder(found, key + ".search_path[" + std::to_string(i) + "]", settings.search_path(i));
  };
  found.for_kinds(Role::readout, farm.readout().nodes_size(),
                  [&] { check_plugin("source", found.here().source()); });
  found.for_kinds(Role::dcm, farm.dcm().nodes_size(), [&] {
    check_plugin("filter", found.here().filter());
    if (found.here().filter().plugin().empty())
      found.error(ProblemKind::missing_key, "filter.plugin", "needs a plugin; 'accept-all' keeps everything");
  });
}

void check_settings(Validation& found) {
  check_trigger(found);
  check_building(found);
  check_texts(found);
  found.for_kinds(Role::readout, found.farm().readout().nodes_size(), [&] {
    check_hits(found);
    check_dummy_sizes(found);
    check_front_end(found);
    check_faults(found);
  });
  found.for_kinds(Role::dcm, found.farm().dcm().nodes_size(), [&] { check_dcm_limits(found); });
  check_groups(found.farm(),
               [&](const std::string& key, std::string what) { found.inconsistent(key, std::move(what)); });
  check_supervisor(found);
  check_times(found);
  check_windows(found);
  check_steps(found);
  check_trigger_file(found);
  check_overrun(found);
}

void check_source_groups(Validation& found, const FarmPlan& plan) {
  const v1::Farm& farm = found.farm();
  if (const auto groups = source_groups(farm, plan, found.locations()); !groups) found.add(groups.error());
  found.for_kinds(Role::dcm, farm.dcm().nodes_size(), [&] {
    for (const Problem& problem : check_group_names(found.here()))
      found.error(problem.kind, problem.key, problem.what);
  });
  if (farm.run().mode() != v1::RunSettings::MODE_PUSH) return;
  if (farm.filter().first_groups_size() > 0)
    found.warn("filter.first_groups", "has no effect with run.mode 'push': slices come whole");
  if (farm.filter().steps_size() > 0)
    found.warn("filter.steps", "has no effect with run.mode 'push': slices come whole");
}

void check_plan(Validation& found, const FarmPlan& plan, const ReplayReader& replay) {
  check_length(found);
  check_sources(found, plan);
  check_step_offsets(found, plan);
  const ExpectedSizes sizes = check_readouts(found, plan, replay);
  check_push(found, plan);
  check_dcms(found, plan, sizes);
  check_burst(found, plan);
  check_writers(found, plan, sizes);
  check_sync_times(found, plan);
  check_exposure(found, plan);
  check_ports(found, plan);
  check_planes(found, plan);
  check_source_groups(found, plan);
  if (const auto rules = read_rules(found.farm(), plan, found.locations()); !rules) found.add(rules.error());
  if (const auto alarms = read_alarms(found.farm(), found.locations()); !alarms) found.add(alarms.error());
  if (const auto hooks = read_hooks(found.farm(), found.locations()); !hooks) found.add(hooks.error());
  if (const auto quality = read_quality(found.farm(), found.locations()); !quality)
    found.add(quality.error());
}

}  // namespace

Problems validate(const v1::Farm& farm, const Locations& locations, const ReplayReader& replay) {
  std::unordered_map<std::string, Expected<ReplayContents, std::string>> seen;
  // Reads the folder once, however many rules need its contents.
  ReplayReader once;
  if (replay) {
    once = [&](const std::string& path) {
      const auto known = seen.find(path);
      return known != seen.end() ? known->second : seen.emplace(path, replay(path)).first->second;
    };
  }
  Validation found(farm, locations);
  check_settings(found);
  if (const auto plan = expand(farm, locations, once)) {
    check_plan(found, *plan, once);
  } else {
    found.add(plan.error());
  }
  return found.take();
}

}  // namespace weir::config
