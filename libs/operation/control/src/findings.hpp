#pragma once

#include <weir/control/health.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Parts of health_of(), and the words that they share.
namespace weir::control {

using Findings = std::vector<Finding>;
using Picked = std::vector<const HealthView::Process*>;

[[nodiscard]] std::string whole_seconds(DurationNs time);                       // "12 s"
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);  // "2 slices"
[[nodiscard]] std::string list(const std::vector<std::string>& names);          // at most four
[[nodiscard]] std::string list(const Picked& picked);

template <typename Wanted>
Picked pick(const HealthView& view, const Wanted& wanted) {
  Picked picked;
  for (const HealthView::Process& one : view.processes) {
    if (!one.removed && wanted(one)) picked.push_back(&one);
  }
  return picked;
}

[[nodiscard]] bool in_run(const HealthView::Process& one);
[[nodiscard]] bool run_is_on(const HealthView& view);
// Processes that have not reported yet to a new run control get some time for it.
[[nodiscard]] bool is_awaited(const HealthView& view, const HealthView::Process& one);

// Adds processes, hosts and roles that the run lacks: those that die again and again first.
void away_in_run(const HealthView& view, Findings& out);
// Adds processes that have died or were away, and are back.
void back_in_run(const HealthView& view, Findings& out);
// Adds absent processes of a farm without a run.
void absent(const HealthView& view, Findings& out);

// Adds triggers refused for their content.
void refused_triggers(const HealthView& view, Findings& out);

// Adds filters that hang, fail, or end their workers. Returns true if such a filter also explains why slices
// wait for filters.
bool broken_filters(const HealthView& view, Findings& out);

}  // namespace weir::control
