#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/problem.hpp>
#include <weir/config/switch_file.hpp>
#include <weir/packet_switch/packet_switch.hpp>

namespace weir::switch_node {

// Returns the settings of a switch file's switch. Errors name the key.
[[nodiscard]] Expected<packet_switch::PacketSwitchSettings, config::Problems> settings_of(
    const config::SwitchFile& file);

}  // namespace weir::switch_node
