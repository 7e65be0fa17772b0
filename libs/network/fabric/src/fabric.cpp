#include <weir/base/assert.hpp>
#include <weir/fabric/fabric.hpp>

#include <algorithm>
#include <cmath>

namespace weir::fabric {
namespace {

constexpr std::uint64_t kChassisPorts = 768;
constexpr std::uint64_t kModulePorts = 24;
constexpr std::uint64_t kFabricModulesInChassis = 7;
constexpr double kChassisPrice = 98'698;
constexpr double kModulePrice = 51'948;
constexpr double kFabricModulePrice = 7'399;

std::uint64_t parts_of(std::uint64_t whole, std::uint64_t part) { return (whole + part - 1) / part; }

}  // namespace

double plane_bandwidth_gbit(const Nodes& nodes, std::uint32_t spines) {
  WEIR_ASSERT(nodes.readouts_per_pod > 0 && nodes.racks_per_pod > 0 && nodes.pods > 0);
  const double readouts = nodes.readouts();
  const double racks = nodes.racks();
  double flow = std::min(nodes.link_gbit / readouts, nodes.link_gbit / racks);
  // Flows inside of a pod do not pass a spine.
  if (nodes.pods > 1) {
    const double between_pods = double{1} * nodes.readouts_per_pod * nodes.racks_per_pod * (nodes.pods - 1);
    flow = std::min(flow, nodes.link_gbit * spines / between_pods);
  }
  return racks * readouts * flow;
}

std::uint32_t spines_for_racks(const Nodes& nodes) {
  return static_cast<std::uint32_t>(
      parts_of(std::uint64_t{nodes.racks_per_pod} * (nodes.pods - 1), nodes.pods));
}

std::uint32_t spines_for_readouts(const Nodes& nodes) {
  return static_cast<std::uint32_t>(
      parts_of(std::uint64_t{nodes.readouts_per_pod} * (nodes.pods - 1), nodes.pods));
}

std::uint32_t planes_for(double gbit, const Nodes& nodes, std::uint32_t spines) {
  return static_cast<std::uint32_t>(std::ceil(gbit / plane_bandwidth_gbit(nodes, spines)));
}

Servers servers_for(std::uint64_t ports, std::uint32_t spines, const SwitchKind& kind) {
  WEIR_ASSERT(kind.ports > spines);
  const std::uint64_t of_leaf = kind.ports - spines;
  const std::uint64_t of_plane = kind.ports * of_leaf;
  Servers servers;
  servers.full_planes = static_cast<std::uint32_t>(ports / of_plane);
  servers.leaves_of_last = static_cast<std::uint32_t>(parts_of(ports % of_plane, of_leaf));
  // The last line of 6.10 leaves out the factor full_planes.
  servers.leaves = servers.full_planes * kind.ports + servers.leaves_of_last;
  servers.spines = servers.planes() * spines;
  return servers;
}

ReferenceRouter reference_router(std::uint64_t ports) {
  ReferenceRouter router;
  router.chassis = parts_of(ports, kChassisPorts);
  router.modules = parts_of(ports, kModulePorts);
  router.fabric_modules = router.modules;
  const std::uint64_t included = kFabricModulesInChassis * router.chassis;
  const std::uint64_t bought = router.fabric_modules > included ? router.fabric_modules - included : 0;
  router.price = static_cast<double>(router.chassis) * kChassisPrice +
                 static_cast<double>(router.modules) * kModulePrice +
                 static_cast<double>(bought) * kFabricModulePrice;
  return router;
}

}  // namespace weir::fabric
