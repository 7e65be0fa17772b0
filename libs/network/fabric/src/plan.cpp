#include <weir/fabric/plan.hpp>

#include <fmt/format.h>

#include <iterator>

namespace weir::fabric {
namespace {

constexpr std::uint32_t kPodsMax = 100;    // leaves of a lab
constexpr std::uint32_t kSpinesMax = 100;  // likewise
constexpr double kBitsPerGbit = 1e9;

Nodes nodes_of(const Wish& wish, std::uint32_t pods) {
  return {(wish.readouts + pods - 1) / pods, (wish.racks + pods - 1) / pods, pods, wish.link_gbit};
}

std::uint32_t spines_of(const Wish& wish, const Nodes& nodes) {
  if (nodes.pods == 1) return 0;
  return wish.spines > 0 ? wish.spines : spines_for_racks(nodes);
}

bool fits(const Wish& wish, std::uint32_t pods) {
  const Nodes nodes = nodes_of(wish, pods);
  return pods <= wish.kind.ports &&
         nodes.readouts_per_pod + nodes.racks_per_pod + spines_of(wish, nodes) <= wish.kind.ports;
}

std::string rate_of(double gbit) { return fmt::format("{:.0f}bit", gbit * kBitsPerGbit); }

}  // namespace

Expected<Plan, std::string> plan_of(const Wish& wish) {
  if (wish.readouts == 0 || wish.racks == 0 || wish.link_gbit <= 0)
    return Unexpected<std::string>("readouts, racks and the rate of a link are above 0");
  std::uint32_t pods = wish.pods;
  for (std::uint32_t few = 1; pods == 0 && few <= kPodsMax; ++few) {
    if (fits(wish, few)) pods = few;
  }
  if (pods == 0 || pods > kPodsMax || !fits(wish, pods))
    return Unexpected<std::string>(
        fmt::format("{} readouts and {} racks{} need leaves with more than {} ports: choose more pods, fewer "
                    "spines, or switches "
                    "with more ports",
                    wish.readouts, wish.racks,
                    wish.pods > 0 ? fmt::format(" in {} pods", wish.pods) : std::string(), wish.kind.ports));
  Plan plan;
  plan.wish = wish;
  plan.nodes = nodes_of(wish, pods);
  plan.spines = spines_of(wish, plan.nodes);
  if (plan.spines > kSpinesMax)
    return Unexpected<std::string>(fmt::format("more than {} spines", kSpinesMax));
  plan.plane_gbit = plane_bandwidth_gbit(plan.nodes, plan.spines);
  plan.planes = wish.bandwidth_gbit > 0 ? planes_for(wish.bandwidth_gbit, plan.nodes, plan.spines) : 1;
  return plan;
}

std::string text_of(const Plan& plan) {
  const Wish& wish = plan.wish;
  const Servers packed = servers_for(plan.ports(), plan.spines, wish.kind);
  const ReferenceRouter router = reference_router(plan.ports());
  std::string text;
  const auto line = [&](const char* what, const std::string& value) {
    fmt::format_to(std::back_inserter(text), "{:<30} {}\n", what, value);
  };
  line("pods", fmt::format("{}, of up to {} readouts and {} racks", plan.nodes.pods,
                           plan.nodes.readouts_per_pod, plan.nodes.racks_per_pod));
  line("spines in a plane",
       fmt::format("{} (6.5: {} for the racks' links, {} for the readouts')", plan.spines,
                   spines_for_racks(plan.nodes), spines_for_readouts(plan.nodes)));
  line("a plane carries", fmt::format("{:.1f} Gb/s (6.1)", plan.plane_gbit));
  line("planes", fmt::format("{}, together {:.1f} Gb/s", plan.planes, plan.all_gbit()));
  line("ports for end nodes", std::to_string(plan.ports()));
  line("switches", fmt::format("{}: {} leaves, {} spines, of {} ports each", plan.switches(),
                               plan.planes * plan.nodes.pods, plan.planes * plan.spines, wish.kind.ports));
  line("price", fmt::format("{:.0f}", plan.price()));
  line("space", fmt::format("{:g} rack units", plan.rack_units()));
  line("the same ports, packed",
       fmt::format("{} switches, price {:.0f}, {:g} rack units (6.6 to 6.10)", packed.all(),
                   packed.all() * wish.kind.price, packed.all() * wish.kind.rack_units));
  line("routers of the thesis", fmt::format("{} chassis, {} modules, price {:.0f} (6.2.5.2)", router.chassis,
                                            router.modules, router.price));
  return text;
}

std::string lab_yaml(const Plan& plan) {
  const Wish& wish = plan.wish;
  const double gbit = wish.scale * wish.link_gbit;
  std::string text = fmt::format(
      "# One plane of {}, at {:g} of the rate of its links; a DCM stands for each rack.\n"
      "lab: fabric\n"
      "topology: leaf-spine\n"
      "port_rate: {}\n"
      "leaf_spine: {{leaves: {}, spines: {}, link_rate: {}}}\n"
      "hosts:\n",
      plan.planes, wish.scale, rate_of(gbit), plan.nodes.pods, plan.spines > 0 ? plan.spines : 1,
      rate_of(gbit));
  const auto hosts = [&](const char* letter, const char* node, std::uint32_t count, std::uint32_t per_pod) {
    for (std::uint32_t i = 0; i < count; ++i)
      fmt::format_to(std::back_inserter(text),
                     "  - {{name: {}{}, nodes: [{}-{}], attached: {}, host_rate: {}}}\n", letter, i, node, i,
                     1 + i / per_pod, rate_of(gbit));
  };
  hosts("r", "readout", wish.readouts, plan.nodes.readouts_per_pod);
  hosts("d", "dcm", wish.racks, plan.nodes.racks_per_pod);
  return text;
}

std::string network_yaml(const Plan& plan) {
  return fmt::format("network:\n  port_rate: {}\n", rate_of(plan.wish.link_gbit));
}

}  // namespace weir::fabric
