#include "topology.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/time.hpp>
#include <weir/config/rate.hpp>

#include <fmt/format.h>

#include <cmath>

namespace weir::lab {
namespace {

// The text was validated when the file was read.
std::uint64_t rate_of(const std::string& text) {
  const auto rate = config::parse_rate(text);
  WEIR_ASSERT(rate.has_value());
  return *rate;
}

std::uint64_t buffer_of(const std::string& text) {
  const auto bytes = config::parse_buffer(text);
  WEIR_ASSERT(bytes.has_value());
  return *bytes;
}

std::int64_t delay_of(double ms) { return std::llround(ms * static_cast<double>(kMillisecond)); }

const std::string& or_else(const std::string& text, const std::string& otherwise) {
  return text.empty() ? otherwise : text;
}

class PlaneBuilder {
 public:
  PlaneBuilder(LabPlan& plan, std::size_t plane) : plan_(plan), plane_(plane) {}

  void add_port(std::string name, Space space, std::string device, const std::string& rate,
                const std::string& buffer, bool to_host) {
    if (const std::uint64_t bits = rate_of(rate); bits != 0) {
      plan_.ports.push_back(
          {std::move(name), space, std::move(device), bits, buffer_of(buffer), to_host, {}});
    }
  }

  // Adds both directions of a cable.
  void add_link(std::size_t from, std::size_t to, const std::string& rate, const std::string& buffer,
                const std::string& buffer_back, double delay_ms) {
    const std::string& a = plan_.switches[from];
    const std::string& b = plan_.switches[to];
    plan_.links.push_back({from, to, device(from, to), device(to, from), delay_of(delay_ms)});
    add_port(a + ">" + b, kSwitches, device(from, to), rate, buffer, false);
    add_port(b + ">" + a, kSwitches, device(to, from), rate, buffer_back, false);
  }

  [[nodiscard]] std::string device(std::size_t at, std::size_t towards) const {
    return plan_.switches[at] + "." + plan_.switches[towards];
  }

  void forward(std::size_t host, std::string device) {
    plan_.forwards.push_back({host, std::move(device), plane_});
  }

  void add_hosts(const v1::Lab& lab, const std::vector<const v1::HostSettings*>& listed) {
    static const v1::HostSettings kNothing;
    for (std::size_t i = 0; i < plan_.hosts.size(); ++i) {
      const v1::HostSettings& own = listed[i] != nullptr ? *listed[i] : kNothing;
      LabHost& host = plan_.hosts[i];
      const std::string& edge = plan_.switches[host.attached];
      add_port(edge + ">" + host.name, kSwitches, host.leg(plane_).device,
               or_else(own.port_rate(), lab.port_rate()), or_else(own.port_buffer(), lab.port_buffer()),
               true);
      const std::string& rate = or_else(own.host_rate(), lab.host_rate());
      host.own_port = rate_of(rate) != 0;
      add_port(host.name + ">" + edge, kFirstHost + i, host.leg(plane_).nic, rate, lab.host_buffer(), false);
      const std::string& card = or_else(own.nic_rate(), lab.nic_rate());
      host.slow_nic = rate_of(card) != 0;
      host.relayed_nic = host.slow_nic && plan_.software;
      add_port("nic>" + host.name, host.relayed_nic ? kSwitches : kFirstHost + i,
               host.relayed_nic ? host.card_exit() : kNicDevice, card, lab.nic_buffer(), false);
      forward(i, host.leg(plane_).device);
    }
  }

  // Adds edge switches 0 to count-1, and a core switch behind them.
  void add_racks(const v1::Lab& lab) {
    const std::size_t core = plan_.switches.size() - 1;
    for (std::size_t rack = 0; rack < core; ++rack) {
      add_link(rack, core, lab.racks().uplink_rate(), lab.racks().uplink_buffer(),
               or_else(lab.racks().core_buffer(), lab.racks().uplink_buffer()),
               lab.racks().uplink_delay_ms());
    }
    for (std::size_t i = 0; i < plan_.hosts.size(); ++i) {
      for (std::size_t rack = 0; rack < core; ++rack) {
        if (rack != plan_.hosts[i].attached) forward(i, device(rack, core));
      }
      if (plan_.hosts[i].attached != core) forward(i, device(core, plan_.hosts[i].attached));
    }
  }

  void add_leaf_spine(const v1::Lab& lab) {
    const std::size_t leaves = lab.leaf_spine().leaves();
    const std::size_t spines = lab.leaf_spine().spines();
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      for (std::size_t spine = 0; spine < spines; ++spine) {
        add_link(leaf, leaves + spine, lab.leaf_spine().link_rate(), lab.leaf_spine().link_buffer(),
                 lab.leaf_spine().link_buffer(), lab.leaf_spine().link_delay_ms());
      }
    }
    choose_spines(spines);
    for (std::size_t i = 0; i < plan_.hosts.size(); ++i) {
      const LabHost& host = plan_.hosts[i];
      for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
        if (leaf != host.attached) forward(i, device(leaf, leaves + host.spine));
      }
      for (std::size_t spine = 0; spine < spines; ++spine) forward(i, device(leaves + spine, host.attached));
    }
    steer(leaves);
  }

  // Gives each address of DCMs a ring at every switch port on the way to it.
  void add_rings(const v1::Lab& lab) {
    if (lab.port_queue() != v1::Lab::PORT_QUEUE_PER_DCM && !plan_.software) return;
    plan_.ring_packets = lab.ring_packets();
    plan_.ring_bits_per_s = rate_of(lab.ring_rate());
    if (plan_.software) return;  // which has them inside
    for (Port& port : plan_.ports) {
      if (port.space != kSwitches) continue;
      for (const Forward& forward : plan_.forwards) {
        if (forward.device != port.device) continue;
        const auto addresses = plan_.ring_addresses(forward.host, plane_);
        port.rings.insert(port.rings.end(), addresses.begin(), addresses.end());
      }
    }
  }

  void add_line(const v1::Lab& lab) {
    const v1::WanSettings& wan = lab.wan();
    plan_.line = RelayedLink{{kSwitches, device(0, 1)},
                             {kSwitches, device(1, 0)},
                             rate_of(wan.rate()),
                             buffer_of(wan.buffer()),
                             delay_of(wan.delay_ms())};
    for (std::size_t i = 0; i < plan_.hosts.size(); ++i) {
      forward(i, device(1 - plan_.hosts[i].attached, plan_.hosts[i].attached));
    }
  }

 private:
  // Hosts with DCMs are spread over the spines in turn, and so are the other hosts.
  void choose_spines(std::size_t spines) {
    std::size_t next = 0;
    std::size_t other = 0;
    for (LabHost& host : plan_.hosts) host.spine = (host.has_dcm ? next++ : other++) % spines;
  }

  // Traffic from a host with DCMs to one without (requests, acknowledgements) uses the spine over which the
  // responses come.
  void steer(std::size_t leaves) {
    for (std::size_t from = 0; from < plan_.hosts.size(); ++from) {
      const LabHost& dcm = plan_.hosts[from];
      if (!dcm.has_dcm) continue;
      for (std::size_t to = 0; to < plan_.hosts.size(); ++to) {
        const LabHost& other = plan_.hosts[to];
        if (other.has_dcm || other.attached == dcm.attached || other.spine == dcm.spine) continue;
        plan_.steers.push_back({from, to, device(dcm.attached, leaves + dcm.spine), plane_});
      }
    }
  }

  LabPlan& plan_;
  std::size_t plane_;
};

void add_switches(LabPlan& plan, std::string_view name, std::size_t count, const std::string& letter) {
  for (std::size_t i = 1; i <= count; ++i) plan.switches.push_back(fmt::format("{}{}{}", name, i, letter));
}

// Adds one plane to a plan without switches.
void add_plane(const v1::Lab& lab, const std::vector<const v1::HostSettings*>& listed, std::size_t plane,
               LabPlan& plan) {
  PlaneBuilder builder(plan, plane);
  const std::string letter = plane_letter(plane);
  switch (lab.topology()) {
    case v1::Lab::TOPOLOGY_STAR:
      plan.topology = "star";
      plan.switches = {"switch" + letter};
      builder.add_hosts(lab, listed);
      break;
    case v1::Lab::TOPOLOGY_RACKS:
      plan.topology = "racks";
      add_switches(plan, "rack", lab.racks().count(), letter);
      plan.switches.push_back("core" + letter);
      builder.add_hosts(lab, listed);
      builder.add_racks(lab);
      break;
    case v1::Lab::TOPOLOGY_LEAF_SPINE:
      plan.topology = "leaf-spine";
      add_switches(plan, "leaf", lab.leaf_spine().leaves(), letter);
      add_switches(plan, "spine", lab.leaf_spine().spines(), letter);
      builder.add_hosts(lab, listed);
      builder.add_leaf_spine(lab);
      break;
    case v1::Lab::TOPOLOGY_WAN:
      plan.topology = "wan";
      add_switches(plan, "site", 2, letter);
      builder.add_hosts(lab, listed);
      builder.add_line(lab);
      break;
  }
  builder.add_rings(lab);
}

template <class Part>
void append(std::vector<Part>& to, const std::vector<Part>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

Edges edges_of(const v1::Lab& lab) {
  switch (lab.topology()) {
    case v1::Lab::TOPOLOGY_RACKS:
      return {lab.racks().count(), "rack"};
    case v1::Lab::TOPOLOGY_LEAF_SPINE:
      return {lab.leaf_spine().leaves(), "leaf"};
    case v1::Lab::TOPOLOGY_WAN:
      return {2, "site"};
    case v1::Lab::TOPOLOGY_STAR:
      break;
  }
  return {};
}

std::string plane_letter(std::size_t plane) {
  return plane == 0 ? std::string() : std::string(1, static_cast<char>('a' + plane));
}

void add_topology(const v1::Lab& lab, const std::vector<const v1::HostSettings*>& listed, LabPlan& plan) {
  const LabPlan before = plan;
  add_plane(lab, listed, 0, plan);
  for (std::size_t plane = 1; plane < plan.planes; ++plane) {
    LabPlan one = before;
    add_plane(lab, listed, plane, one);
    const std::size_t first = plan.switches.size();
    append(plan.switches, one.switches);
    for (Link& link : one.links) {
      link.from += first;
      link.to += first;
    }
    append(plan.links, one.links);
    append(plan.ports, one.ports);
    append(plan.forwards, one.forwards);
    append(plan.steers, one.steers);
    for (LabHost& host : plan.hosts) host.more_legs[plane - 1].attached = host.attached + first;
  }
}

}  // namespace weir::lab
