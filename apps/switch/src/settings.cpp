#include "settings.hpp"

#include <utility>

namespace weir::switch_node {

Expected<packet_switch::PacketSwitchSettings, config::Problems> settings_of(const config::SwitchFile& file) {
  auto machine = config::machine_of(file);
  if (!machine) return Unexpected<config::Problems>(machine.error());
  packet_switch::PacketSwitchSettings settings;
  for (const v1::SwitchPortSettings& port : file.settings.ports()) {
    packet_switch::PortInterface interface;
    interface.device = port.interface();
    interface.frame_bytes_max = machine->frame_bytes_max;
    interface.receive_frames = port.receive_packets();
    interface.transmit_frames = port.transmit_packets();
    settings.interfaces.push_back(interface);
  }
  settings.machine = std::move(*machine);
  settings.busy_poll_ns = file.settings.busy_poll_us() * kMicrosecond;
  return settings;
}

}  // namespace weir::switch_node
