// Parts of a lab that exclude each other.
#include "lab_work.hpp"
#include <weir/lab/fabric_plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace weir::lab {
namespace {

constexpr std::size_t kDeviceNameMax = 15;

}  // namespace

// Refuses planes where a part of the network exists only once.
void check_planes(LabWork& work) {
  if (work.plan.planes == 1) return;
  if (work.plan.line) work.report("planes", "are not for the topology wan: it has a single line");
  if (work.plan.has_fabric())
    work.report("planes", "are not for back_pressure: its switches are one machine");
  for (const LabHost& host : work.plan.hosts) {
    if (host.delay_ns > 0)
      work.report("planes", fmt::format("are not for links with a delay, as of {}", host.name));
    if (host.loses_frames())
      work.report("planes", fmt::format("are not for hosts that lose frames, as {}: use cuts", host.name));
    if (host.slow_nic)
      work.report("planes", fmt::format("are not for hosts with a nic_rate, as {}", host.name));
  }
  for (const Link& link : work.plan.links) {
    if (std::max(link.from_device.size(), link.to_device.size()) > kDeviceNameMax)
      return work.report("planes",
                         fmt::format("have too long names of devices, as {}: use up to 9 switches of a kind",
                                     link.from_device));
  }
}

// Switches in user space have ports and buffers of their own, which hold any sender back.
void check_back_pressure(LabWork& work) {
  for (std::size_t i = 0; i < work.plan.hosts.size(); ++i) {
    if (work.plan.hosts[i].card != 0 && work.plan.back_pressure != FlowControl::credits)
      work.report(fmt::format("hosts[{}].card", i), "needs back_pressure: credits");
  }
  if (!work.plan.has_fabric()) return;
  if (work.plan.line)
    work.report("back_pressure", "is not for the topology wan: the line cannot hold a sender back");
  if (work.plan.ring_packets > 0 && !work.plan.software)
    work.report("back_pressure", "is not for port_queue: per-dcm: rings drop frames");
  if (!work.plan.changes.empty())
    work.report("changes", "are not for back_pressure: its ports keep their rates");
  for (const LabHost& host : work.plan.hosts) {
    if (host.slow_nic)
      work.report("nic_rate",
                  fmt::format("of {} is not for back_pressure: its card drops frames", host.name));
    if (host.offloads == Offloads::all)
      work.report("offloads",
                  fmt::format("of {} are all: back_pressure needs frames of the wire", host.name));
  }
  const std::size_t ends = 2 * (work.plan.hosts.size() + work.plan.links.size());
  if (work.is_sound() && work.plan.ports.size() != ends) {
    work.report("back_pressure",
                "needs a rate at each end of a link: set host_rate, port_rate and the rates of "
                "links between switches");
  }
  if (!work.is_sound()) return;
  if (auto problem = FabricPlan(work.plan).problem(work.plan))
    work.report("back_pressure", std::move(*problem));
}

// A paused port still sends the frames of its queue in the kernel.
void check_pausing_cards(LabWork& work) {
  const auto refuse = [&](std::string what) { work.report("nic_pauses", std::move(what)); };
  if (!work.plan.software) return refuse("needs switches: software");
  bool any = false;
  for (const LabHost& host : work.plan.hosts) {
    if (!host.relayed_nic) continue;
    any = true;
    const auto port_of = [&](const std::string& device) {
      return std::ranges::find_if(work.plan.ports, [&](const Port& port) {
        return port.space == kSwitches && port.device == device;
      });
    };
    const auto port = port_of(host.name);
    if (port == work.plan.ports.end())
      return refuse(fmt::format("needs a port_rate of {}: an unlimited port cannot pause", host.name));
    if (port_of(host.card_exit())->buffer_bytes < 4 * port->buffer_bytes)
      return refuse(fmt::format(
          "needs a nic_buffer of four times the port_buffer of {}, which arrives during a pause", host.name));
  }
  if (!any) refuse("needs hosts with a nic_rate");
}

void check_software_switches(LabWork& work) {
  if (work.lab.nic_pauses()) check_pausing_cards(work);
  if (!work.plan.software) {
    if (work.lab.port_queue() == v1::Lab::PORT_QUEUE_PER_INPUT ||
        work.lab.port_queue() == v1::Lab::PORT_QUEUE_ONE)
      work.report("port_queue", "needs switches: software");
    if (work.plan.mark_packets > 0) work.report("mark_packets", "needs switches: software");
    return;
  }
  if (work.plan.has_fabric())
    work.report("switches", "are software, and back_pressure has switches of its own");
  if (work.plan.line) work.report("switches", "cannot be software in the topology wan");
  const bool delays = std::any_of(work.plan.hosts.begin(), work.plan.hosts.end(),
                                  [](const LabHost& host) { return host.delay_ns > 0; }) ||
                      std::any_of(work.plan.links.begin(), work.plan.links.end(),
                                  [](const Link& link) { return link.delay_ns > 0; });
  if (delays) work.report("switches", "cannot be software on links with a delay");
  for (const LabHost& host : work.plan.hosts) {
    if (host.offloads == Offloads::all)
      work.report("offloads",
                  fmt::format("of {} are all: software switches need frames of the wire", host.name));
  }
}

}  // namespace weir::lab
