#include <weir/switching/settings.hpp>

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

namespace weir::switching {
namespace {

std::string text_of(Address address) {
  return fmt::format("{}.{}.{}.{}", address >> 24U, (address >> 16U) & 0xffU, (address >> 8U) & 0xffU,
                     address & 0xffU);
}

std::optional<std::string> problem_of_rings(const SwitchSettings& settings) {
  std::set<std::pair<Address, std::uint16_t>> flows;
  std::map<Address, std::size_t> ways;
  for (const FlowRing& ring : settings.rings) {
    if (ring.via >= settings.ports.size()) return fmt::format("ring {}: no port {}", ring.name, ring.via);
    if (ring.frames_max == 0) return fmt::format("ring {}: holds no frame", ring.name);
    if (ring.bytes_max != 0 && ring.bytes_max < settings.frame_bytes_max)
      return fmt::format("ring {}: is shorter than a frame of {} bytes", ring.name, settings.frame_bytes_max);
    if (!flows.emplace(ring.address, ring.port).second)
      return fmt::format("ring {}: {} has another ring already", ring.name, text_of(ring.address));
    if (ways.try_emplace(ring.address, ring.via).first->second != ring.via)
      return fmt::format("ring {}: {} has rings at two ports", ring.name, text_of(ring.address));
  }
  for (const Route& route : settings.routes) {
    if (route.via >= settings.ports.size())
      return fmt::format("route to {}: no port {}", text_of(route.address), route.via);
    if (!ways.try_emplace(route.address, route.via).second)
      return fmt::format("route to {}: the address has a ring or another route", text_of(route.address));
  }
  return std::nullopt;
}

}  // namespace

const char* name_of(Queueing queueing) {
  switch (queueing) {
    case Queueing::rings:
      return "rings";
    case Queueing::output:
      return "output queues";
    case Queueing::virtual_output:
      return "virtual output queues";
    case Queueing::fifo:
      return "one queue";
  }
  return "";
}

std::optional<std::string> problem_of(const SwitchSettings& settings) {
  if (settings.ports.empty()) return "a switch needs a port";
  if (settings.other_frames == 0) return "frames without a ring need room for one frame at least";
  for (const PortSettings& port : settings.ports) {
    if (port.transmit_frames == 0)
      return fmt::format("port {}: its transmit queue holds no frame", port.name);
    if (settings.when_full == WhenFull::hold && port.receive_frames == 0)
      return fmt::format("port {}: its receive queue holds no frame", port.name);
    const bool pauses = port.obeys_pauses || port.pause_bytes > 0;
    if (pauses && port.bits_per_s == 0) return fmt::format("port {}: pauses need the link's rate", port.name);
  }
  return problem_of_rings(settings);
}

std::optional<std::string> problem_of_change(const SwitchSettings& from, const SwitchSettings& to) {
  if (auto problem = problem_of(to)) return problem;
  const bool same = from.queueing == to.queueing && from.when_full == to.when_full &&
                    from.frame_bytes_max == to.frame_bytes_max && from.other_frames == to.other_frames &&
                    from.mark_frames == to.mark_frames && from.ports == to.ports;
  if (!same) return "only rings and addresses can change while the switch runs: restart it";
  if (from.queueing != Queueing::rings)
    return fmt::format("queues \"{}\" cannot change while the switch runs: restart it",
                       name_of(from.queueing));
  return std::nullopt;
}

}  // namespace weir::switching
