#pragma once

#include <cstdint>

// Parallel planes of leaf and spine switches between readouts and racks with DCMs (Jereczek 2017, chapter 6).
// Each readout and each rack has a link to one leaf of every plane; each leaf has one to every spine of its
// plane. Pure.
namespace weir::fabric {

// The end nodes of a network.
struct Nodes {
  std::uint32_t readouts_per_pod = 0;  // a pod is what one leaf of each plane connects
  std::uint32_t racks_per_pod = 0;
  std::uint32_t pods = 0;
  double link_gbit = 10;  // of every link

  [[nodiscard]] std::uint32_t readouts() const { return readouts_per_pod * pods; }
  [[nodiscard]] std::uint32_t racks() const { return racks_per_pod * pods; }
};

// Returns the bandwidth of one plane in Gb/s for full event building (6.1, 6.2). Requires: no number of
// `nodes` is 0.
[[nodiscard]] double plane_bandwidth_gbit(const Nodes& nodes, std::uint32_t spines);
// Returns the least number of spines with which only the racks' links, or the readouts' links, limit a plane
// (6.5); 0 with a single pod, which needs no spine.
[[nodiscard]] std::uint32_t spines_for_racks(const Nodes& nodes);
[[nodiscard]] std::uint32_t spines_for_readouts(const Nodes& nodes);
// Returns how many planes carry `gbit`. Requires: a plane carries something.
[[nodiscard]] std::uint32_t planes_for(double gbit, const Nodes& nodes, std::uint32_t spines);

// A server as a switch.
struct SwitchKind {
  std::uint32_t ports = 40;  // thesis 6.2.5.1: ten cards with four ports
  double price = 11'000;     // pounds, there
  double rack_units = 3;     // thesis 7.2.1
};

// Switches that offer a number of ports, plane after plane.
struct Servers {
  std::uint32_t full_planes = 0;     // with as many leaves as a spine has ports
  std::uint32_t leaves_of_last = 0;  // of the plane that is not full; 0: there is none
  std::uint32_t leaves = 0;
  std::uint32_t spines = 0;

  [[nodiscard]] std::uint32_t all() const { return leaves + spines; }
  [[nodiscard]] std::uint32_t planes() const { return full_planes + (leaves_of_last > 0 ? 1 : 0); }
};
// Returns the switches for `ports` ports with `spines` spines in each plane (6.6 to 6.10). Requires: a switch
// has more ports than `spines`.
[[nodiscard]] Servers servers_for(std::uint64_t ports, std::uint32_t spines, const SwitchKind& kind);

// The thesis' reference: large routers in the core (6.2.5.2), in its catalogue prices.
struct ReferenceRouter {
  std::uint64_t chassis = 0;  // with up to 768 ports of 10 Gb/s
  std::uint64_t modules = 0;  // of 24 ports
  std::uint64_t fabric_modules = 0;
  double price = 0;
};
[[nodiscard]] ReferenceRouter reference_router(std::uint64_t ports);

}  // namespace weir::fabric
