#include "topology.hpp"
#include <weir/base/time.hpp>
#include <weir/lab/plan.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace weir::lab {

const char* name_of(FlowControl back_pressure) {
  switch (back_pressure) {
    case FlowControl::none:
      return "none";
    case FlowControl::pause:
      return "pause";
    case FlowControl::credits:
      return "credits";
  }
  return "";
}

std::string LabPlan::space_name(Space space) const {
  if (space == kSwitches) return "switches";
  return space == kControl ? "control" : hosts[space - kFirstHost].name;
}

void LabPlan::set_congestion_control(const std::string& name_of_it) {
  for (LabHost& host : hosts) host.congestion_control = name_of_it;
  for (auto& [node, place] : places) place.congestion_control = name_of_it;
}

std::vector<std::string> LabPlan::ring_addresses(std::size_t host, std::size_t plane) const {
  if (!hosts[host].has_dcm) return {};
  const LabLeg leg = hosts[host].leg(plane);
  return leg.dcm_addresses.empty() ? std::vector<std::string>{leg.address} : leg.dcm_addresses;
}

std::vector<Port> LabPlan::counted_ports() const {
  std::vector<Port> counted = ports;
  if (!line) return counted;
  for (const std::size_t from : {0, 1}) {
    counted.push_back({switches[from] + ">" + switches[1 - from],
                       kSwitches,
                       from == 0 ? line->from.device : line->to.device,
                       line->rate_bits_per_s,
                       line->buffer_bytes,
                       false,
                       {}});
  }
  return counted;
}

std::vector<RelayedLink> LabPlan::relayed_links() const {
  std::vector<RelayedLink> relayed;
  if (has_fabric()) return relayed;
  if (line) relayed.push_back(*line);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i].delay_ns == 0) continue;
    relayed.push_back({{kFirstHost + i, "data"}, {kSwitches, hosts[i].name}, 0, 0, hosts[i].delay_ns});
  }
  for (const Link& link : links) {
    if (link.delay_ns == 0) continue;
    relayed.push_back({{kSwitches, link.from_device}, {kSwitches, link.to_device}, 0, 0, link.delay_ns});
  }
  return relayed;
}

double LabPlan::mean_rate(std::size_t port, double from_s, double to_s) const {
  auto rate = static_cast<double>(ports[port].rate_bits_per_s);
  if (to_s <= from_s) return rate;
  double bits = 0;
  double since_s = from_s;
  for (const PortChange& change : changes) {
    if (change.port != port) continue;
    const double at_s =
        std::clamp(static_cast<double>(change.at_ns) / static_cast<double>(kSecond), from_s, to_s);
    bits += (at_s - since_s) * rate;
    since_s = at_s;
    rate = static_cast<double>(change.rate_bits_per_s);
  }
  return (bits + (to_s - since_s) * rate) / (to_s - from_s);
}

bool LabPlan::line_is_down(std::int64_t at_ns) const {
  return std::any_of(outages.begin(), outages.end(), [at_ns](const Outage& outage) {
    return at_ns >= outage.at_ns && at_ns < outage.at_ns + outage.for_ns;
  });
}

std::string data_network(std::size_t plane) {
  return fmt::format("10.{}.0.0/{}", second_byte(plane), kPrefixBits);
}

std::string control_address() { return "10.78.255.254"; }

}  // namespace weir::lab
