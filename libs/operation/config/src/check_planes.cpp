#include "schema.hpp"
#include "validation.hpp"
#include "yaml_tree.hpp"
#include <weir/config/planes.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace weir::config {
namespace {

std::string plane_key(int plane, const std::string& field) {
  return list_entry("network.planes", plane) + "." + field;
}

// Returns the networks, if all are valid.
std::optional<std::vector<Ipv4Network>> check_networks(Validation& found) {
  const v1::NetworkSettings& network = found.farm().network();
  std::vector<Ipv4Network> networks;
  for (int i = 0; i < network.planes_size(); ++i) {
    const v1::PlaneSettings& plane = network.planes(i);
    for (int j = 0; j < i; ++j) {
      if (network.planes(j).name() == plane.name())
        found.inconsistent(plane_key(i, "name"),
                           "another plane is called " + in_quotes(plane.name()) + " already");
    }
    const auto own = parse_network(plane.network());
    if (!own) {
      found.error(ProblemKind::bad_value, plane_key(i, "network"),
                  in_quotes(plane.network()) + " is not an IPv4 network of 8 to 30 bits, as 10.1.0.0/16");
      continue;
    }
    if (!networks.empty() && own->bits != networks.front().bits) {
      found.inconsistent(plane_key(i, "network"),
                         "has " + std::to_string(own->bits) + " bits, and the first plane has " +
                             std::to_string(networks.front().bits) +
                             ": hosts have the same address but for these bits in each plane");
      continue;
    }
    const bool taken = std::any_of(networks.begin(), networks.end(),
                                   [&](const Ipv4Network& other) { return other.contains(own->address); });
    if (taken) found.inconsistent(plane_key(i, "network"), "is the network of another plane, too");
    networks.push_back(*own);
  }
  if (networks.size() != static_cast<std::size_t>(network.planes_size())) return std::nullopt;
  return networks;
}

// A slice must not end incomplete before its DCM has moved, and has requested its fragments again.
void check_bound(Validation& found) {
  const v1::NetworkSettings& network = found.farm().network();
  const std::uint64_t bound_ms = std::uint64_t{network.heartbeat_ms()} * network.heartbeat_misses();
  const std::string product =
      "network.heartbeat_ms x network.heartbeat_misses is " + std::to_string(bound_ms);
  const std::uint64_t deadline_ms = found.here().dcm().deadline_ms();
  if (2 * bound_ms > deadline_ms)
    found.inconsistent("network.heartbeat_ms", product + ", above half of dcm.deadline_ms, " +
                                                   std::to_string(deadline_ms) +
                                                   ": slices would be incomplete before their DCM has moved");
  if (network.plane_hold_ms() < bound_ms)
    found.inconsistent("network.plane_hold_ms", std::to_string(network.plane_hold_ms()) + " is too short: " +
                                                    product + " ms, in which no plane can be judged");
}

}  // namespace

void check_planes(Validation& found, const FarmPlan& plan) {
  const v1::NetworkSettings& network = found.farm().network();
  const auto planes = static_cast<std::size_t>(network.planes_size());
  if (planes == 0) return;
  if (planes == 1 || planes > kPlanesMax)
    found.inconsistent("network.planes", "needs 2 to " + std::to_string(kPlanesMax) +
                                             " entries, or none for a single network, and has " +
                                             std::to_string(planes));
  found.for_kinds(Role::dcm, found.farm().dcm().nodes_size(), [&] { check_bound(found); });
  for (int i = 0; i < found.farm().dcm().groups_size(); ++i) {
    if (found.farm().dcm().groups(i).remote())
      found.inconsistent(list_entry("dcm.groups", i) + ".remote",
                         "is for DCMs behind one line, and network.planes are for DCMs in all planes");
  }
  const auto networks = check_networks(found);
  if (!networks) return;
  for (const NodePlan* readout : plan.of_role(Role::readout)) {
    const std::string host = readout->listen.substr(0, readout->listen.rfind(':'));
    const auto address = parse_ipv4(host);
    if (address && networks->front().contains(*address)) continue;
    found.inconsistent(
        readout->entry == kNoEntry ? "readout.host" : list_entry("readout.nodes", readout->entry) + ".listen",
        readout->name + " listens at " + in_quotes(host) +
            (address ? ", which is not in " : ", which is not an IPv4 address in ") +
            network.planes(0).network() + ", the network of the first plane");
    return;
  }
}

}  // namespace weir::config
