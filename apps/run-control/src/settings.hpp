#pragma once

#include <weir/bus/hub.hpp>
#include <weir/config/plan.hpp>
#include <weir/control/farm_machine.hpp>
#include <weir/v1/farm.pb.h>

#include <string>
#include <vector>

// The farm file's `control` as the parts of run control take it.
namespace weir::run_control {

// The plan's processes, except masked ones. Errors: std::runtime_error if the farm file gives a duty to an
// unknown process. With `one_run` none is transient: all are waited for.
[[nodiscard]] std::vector<control::MemberPlan> members_of(const config::FarmPlan& plan,
                                                          const v1::ControlSettings& settings, bool one_run);
// Each process of the plan adds 100 ms to control.start_s: hundreds of them take longer to connect.
[[nodiscard]] control::Deadlines deadlines_of(const v1::Farm& farm, const config::FarmPlan& plan);
// Throws std::runtime_error with a sentence: keys are wanted and not there.
[[nodiscard]] bus::HubSettings hub_settings(const v1::ControlSettings& settings, const std::string& listen);

}  // namespace weir::run_control
