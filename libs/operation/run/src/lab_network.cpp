#include "lab_paths.hpp"
#include <weir/run/lab_network.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace weir::run {
namespace {

// Adds the limited links between switches, with the part of each host's data that passes them.
void add_links(const lab::LabPlan& lab, double from_s, double to_s, run_record::FarmNetwork& network) {
  if (lab.planes > 1) return;                // only the hosts' ports are counted
  std::map<std::string, std::size_t> index;  // of FarmNetwork::links, by device
  const auto add = [&](const lab::Port& port, double bits_per_s) {
    index[port.device] = network.links.size();
    network.links.push_back({port.name, bits_per_s, static_cast<double>(port.buffer_bytes),
                             std::vector<double>(network.hosts.size(), 0)});
  };
  const std::vector<lab::Port> ports = lab.counted_ports();
  for (std::size_t p = 0; p < ports.size(); ++p) {
    const bool line = p >= lab.ports.size();
    if (line || (ports[p].space == lab::kSwitches && !ports[p].to_host))
      add(ports[p], line ? static_cast<double>(ports[p].rate_bits_per_s) : lab.mean_rate(p, from_s, to_s));
  }
  if (index.empty()) return;
  const LabPaths paths(lab);
  for (std::size_t to = 0; to < network.hosts.size(); ++to) {
    if (network.hosts[to].dcms == 0) continue;
    for (std::size_t from = 0; from < network.hosts.size(); ++from) {
      if (network.hosts[from].data_share <= 0 || from == to) continue;
      for (const std::string& device : paths.between(from, to)) {
        const auto link = index.find(device);
        if (link != index.end()) network.links[link->second].data_parts[to] += network.hosts[from].data_share;
      }
    }
  }
  std::erase_if(network.links, [](const run_record::FarmLink& link) {
    return std::all_of(link.data_parts.begin(), link.data_parts.end(), [](double part) { return part <= 0; });
  });
}

// The memory of software switches for the frames to a host's DCMs.
double rings_of(const lab::LabPlan& lab, std::size_t host) {
  if (!lab.software) return 0;
  const double frame = lab.mtu + lab::kEthernetHeaderBytes;
  return frame * lab.ring_packets * static_cast<double>(lab.ring_addresses(host).size());
}

// The planes of the DCMs of this host, or of all; the first one if there are none.
std::set<std::size_t> planes_of(const lab::LabPlan& lab, const config::FarmPlan& plan,
                                const lab::LabHost* host) {
  std::set<std::size_t> planes;
  for (const config::NodePlan* dcm : plan.of_role(Role::dcm)) {
    const bool here =
        host == nullptr || std::find(host->nodes.begin(), host->nodes.end(), dcm->name) != host->nodes.end();
    if (here) planes.insert(dcm->index.value % lab.planes);
  }
  if (planes.empty()) planes.insert(0);
  return planes;
}

template <class Test>
bool is_of(const std::set<std::size_t>& planes, Test&& test) {
  return std::any_of(planes.begin(), planes.end(), test);
}

// A card below the rate of the host's port takes the port's place.
void take_nic(const lab::Port& card, double bits_per_s, run_record::FarmHost& here) {
  if (here.port_bits_per_s > 0 && here.port_bits_per_s <= bits_per_s) return;
  here.port_bits_per_s = bits_per_s;
  here.buffer_bytes = static_cast<double>(card.buffer_bytes);
}

}  // namespace

run_record::FarmNetwork network_of(const lab::LabPlan& lab, const config::FarmPlan& plan, double from_s,
                                   double to_s) {
  run_record::FarmNetwork network;
  network.mtu = lab.mtu;
  for (const auto& [name, value] : lab.sysctls) {
    if (name == "ipv4/tcp_timestamps") network.timestamps = value != "0";
  }
  const auto shares = run_record::data_shares(plan);
  network.readouts = static_cast<std::uint32_t>(shares.size());
  const std::set<std::size_t> all_planes = planes_of(lab, plan, nullptr);
  for (std::size_t i = 0; i < lab.hosts.size(); ++i) {
    const lab::LabHost& host = lab.hosts[i];
    const std::set<std::size_t> own_planes = planes_of(lab, plan, &host);
    run_record::FarmHost& here = network.hosts.emplace_back();
    for (std::size_t p = 0; p < lab.ports.size(); ++p) {
      const lab::Port& port = lab.ports[p];
      const double rate = lab.mean_rate(p, from_s, to_s);
      if (port.to_host &&
          is_of(own_planes, [&](std::size_t plane) { return port.device == host.leg(plane).device; })) {
        here.port_bits_per_s += rate;
        here.buffer_bytes += static_cast<double>(port.buffer_bytes) + rings_of(lab, i);
      } else if (port.space == lab::kSwitches && port.device == host.card_exit()) {
        take_nic(port, rate, here);
      } else if (port.space == lab::kFirstHost + i) {
        if (port.device == lab::kNicDevice) {  // after the port to the host
          take_nic(port, rate, here);
        } else if (is_of(all_planes, [&](std::size_t plane) { return port.device == host.leg(plane).nic; })) {
          here.link_bits_per_s += rate;
        }
      }
    }
    for (const std::string& name : host.nodes) {
      const auto share = shares.find(name);
      if (share != shares.end()) here.data_share += share->second;
      const auto node = std::find_if(plan.nodes.begin(), plan.nodes.end(),
                                     [&](const config::NodePlan& one) { return one.name == name; });
      if (node != plan.nodes.end() && node->role == Role::dcm) ++here.dcms;
    }
  }
  network.window_segments = lab.window_segments;
  add_links(lab, from_s, to_s, network);
  return network;
}

}  // namespace weir::run
