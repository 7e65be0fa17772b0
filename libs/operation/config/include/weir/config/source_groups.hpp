#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/plan.hpp>
#include <weir/config/problem.hpp>
#include <weir/v1/farm.pb.h>

#include <string>
#include <vector>

namespace weir::config {

struct SourceGroupPlan {
  std::string name;
  std::vector<SourceId> sources;  // ascending, each once; masked ones are left out
};

// Returns the farm file's `source.groups`, in its order. On failure every problem: unknown sources, readouts
// and groups, malformed ranges, names that repeat, groups without a source. validate() calls it.
[[nodiscard]] Expected<std::vector<SourceGroupPlan>, Problems> source_groups(const v1::Farm& farm,
                                                                             const FarmPlan& plan,
                                                                             const Locations& locations = {});

// Returns the problems of keys that name source groups: `filter.first_groups` and `filter.steps`.
[[nodiscard]] Problems check_group_names(const v1::Farm& farm, const Locations& locations = {});

// Returns the sources of the group of this name; none where no group has it.
[[nodiscard]] std::vector<SourceId> sources_of(const std::vector<SourceGroupPlan>& groups,
                                               const std::string& name);

// Returns the sources of the first step that `filter.first_sources` and `filter.first_groups` name,
// ascending; empty: they name none.
[[nodiscard]] std::vector<SourceId> first_sources(const v1::Farm& farm,
                                                  const std::vector<SourceGroupPlan>& groups);

}  // namespace weir::config
