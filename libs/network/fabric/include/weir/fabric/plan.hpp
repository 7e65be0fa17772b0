#pragma once

#include <weir/base/expected.hpp>
#include <weir/fabric/fabric.hpp>

#include <cstdint>
#include <string>

// From the nodes of a network to its planes, switches, cost and space, and to files for Weir. Pure.
namespace weir::fabric {

struct Wish {
  std::uint32_t readouts = 100;
  std::uint32_t racks = 28;
  std::uint32_t pods = 0;    // 0: the fewest that fit the switches
  std::uint32_t spines = 0;  // of each plane; 0: those that leave the racks' links the only limit (6.5)
  double link_gbit = 10;
  double bandwidth_gbit = 0;  // to carry; 0: what one plane does
  SwitchKind kind = {};
  double scale = 0.01;  // of the rates in the lab file
};

struct Plan {
  Wish wish;
  Nodes nodes;  // with full pods, which may be more than the wish's
  std::uint32_t spines = 0;
  std::uint32_t planes = 0;
  double plane_gbit = 0;

  [[nodiscard]] double all_gbit() const { return planes * plane_gbit; }
  // Ports for end nodes, of all planes.
  [[nodiscard]] std::uint64_t ports() const { return std::uint64_t{planes} * (wish.readouts + wish.racks); }
  [[nodiscard]] std::uint64_t switches() const { return std::uint64_t{planes} * (nodes.pods + spines); }
  [[nodiscard]] double price() const { return static_cast<double>(switches()) * wish.kind.price; }
  [[nodiscard]] double rack_units() const { return static_cast<double>(switches()) * wish.kind.rack_units; }
};

// Errors: a sentence, where no such network exists.
[[nodiscard]] Expected<Plan, std::string> plan_of(const Wish& wish);
// Describes the plan, line by line, with the equations.
[[nodiscard]] std::string text_of(const Plan& plan);
// Returns a lab file with one plane, a host for each readout and a host with a DCM for each rack, at the
// wish's scale.
[[nodiscard]] std::string lab_yaml(const Plan& plan);
// Returns the `network:` section of a farm file for the real network.
[[nodiscard]] std::string network_yaml(const Plan& plan);

}  // namespace weir::fabric
