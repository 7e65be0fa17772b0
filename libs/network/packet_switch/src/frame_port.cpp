#include <weir/packet_switch/frame_port.hpp>
#include <weir/packet_switch/packet_port.hpp>
#ifdef WEIR_SWITCH_XDP
#include <weir/packet_switch/xdp_port.hpp>
#endif

#include <fmt/format.h>

#include <stdexcept>

namespace weir::packet_switch {

std::optional<std::string> problem_of(const PortInterface& settings) {
  if (settings.sockets == Sockets::packet) return std::nullopt;
#ifdef WEIR_SWITCH_XDP
  if (settings.frame_bytes_max <= XdpPort::kFrameBytesMax) return std::nullopt;
  return fmt::format(
      "interface '{}': frames of {} bytes, but AF_XDP takes {} at most: a smaller `mtu`, or `sockets: "
      "packet`",
      settings.device, settings.frame_bytes_max, XdpPort::kFrameBytesMax);
#else
  return fmt::format(
      "interface '{}': this program was built without AF_XDP: build it with WEIR_SWITCH_XDP=ON, or set "
      "`sockets: packet`",
      settings.device);
#endif
}

std::unique_ptr<FramePort> open_port(const PortInterface& settings) {
  if (const auto problem = problem_of(settings)) throw std::runtime_error(*problem);
#ifdef WEIR_SWITCH_XDP
  if (settings.sockets != Sockets::packet) return std::make_unique<XdpPort>(settings);
#endif
  return std::make_unique<PacketPort>(settings);
}

}  // namespace weir::packet_switch
