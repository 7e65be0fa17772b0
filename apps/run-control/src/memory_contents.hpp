#pragma once

#include "farm_setup.hpp"
#include <weir/control/farm_machine.hpp>
#include <weir/v1/bus.pb.h>

#include <string>

// The farm's state and settings in the saved state of run control (Memory).
namespace weir::run_control {

void add_farm(const control::Remembered& farm, v1::ControlMemory& memory);
[[nodiscard]] control::Remembered farm_of(const v1::ControlMemory& memory);

void add_settings(const FarmSetup::Remembered& settings, v1::ControlMemory& memory);
// `farm_yaml`: the configured farm, which is kept beside the state.
[[nodiscard]] FarmSetup::Remembered settings_of(const v1::ControlMemory& memory,
                                                const std::string& farm_yaml);

}  // namespace weir::run_control
