#include "settings.hpp"

#include <utility>

namespace weir::switch_node {
namespace {

packet_switch::Sockets sockets_of(v1::Switch::Sockets word) {
  switch (word) {
    case v1::Switch::SOCKETS_XDP:
      return packet_switch::Sockets::xdp;
    case v1::Switch::SOCKETS_XDP_GENERIC:
      return packet_switch::Sockets::xdp_generic;
    case v1::Switch::SOCKETS_PACKET:
      break;
  }
  return packet_switch::Sockets::packet;
}

}  // namespace

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
    interface.sockets = sockets_of(file.settings.sockets());
    settings.interfaces.push_back(interface);
  }
  settings.machine = std::move(*machine);
  settings.busy_poll_ns = file.settings.busy_poll_us() * kMicrosecond;
  return settings;
}

}  // namespace weir::switch_node
