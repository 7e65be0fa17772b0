#pragma once

#include "hook_desk.hpp"
#include "members.hpp"
#include <weir/bus/hub.hpp>
#include <weir/control/farm_machine.hpp>
#include <weir/control/finding_times.hpp>
#include <weir/control/health.hpp>
#include <weir/run_record/run_fields.hpp>
#include <weir/v1/bus.pb.h>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <vector>

// Views of the farm as messages.
namespace weir::run_control {

[[nodiscard]] v1::FarmView::Node view_of(const control::Member& member, const Process& process, TimeNs now);
// States, commands, runs and the machine's reason.
void add_machine(const control::FarmMachine& machine, v1::FarmView& view);
// Inserts findings about channels before those that are less grave.
[[nodiscard]] std::vector<control::Finding> with_channels(std::vector<control::Finding> findings,
                                                          const std::vector<control::Finding>& channels);
// Requires: the view has its time.
void add_health(const std::vector<control::Finding>& findings, const control::FindingTimes& times,
                v1::FarmView& view);
// Adds the operator's fields of the run, and what run control requires of them.
void add_fields(const run_record::RunFields& fields, const v1::ControlSettings& settings, v1::FarmView& view);
void add_counters(const HookDesk::Counts& counts, v1::FarmView& view);
void add_counters(const bus::HubCounters& counters, std::uint64_t refused_joins, v1::FarmView& view);

}  // namespace weir::run_control
