#include <weir/config/rate.hpp>
#include <weir/run_record/farm_network.hpp>
#include <weir/wire/block.hpp>
#include <weir/wire/frame.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

namespace weir::run_record {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr double kBeyond = 1e18;  // bits per second: above any network's rate
constexpr int kBisections = 60;

double limit(double bits_per_s) { return bits_per_s > 0 ? bits_per_s : kUnlimited; }

// Returns how much data the DCMs of a host can receive, through its port and from readouts on the same host.
double intake(const FarmHost& host) {
  if (host.dcms == 0) return 0;
  return host.data_share < 1 ? limit(host.port_bits_per_s) / (1 - host.data_share) : kUnlimited;
}

// Returns the total at which the host's link is full, not counting the data of its own DCMs.
double outlet(const FarmHost& host) {
  return host.data_share > 0 ? limit(host.link_bits_per_s) / host.data_share : kUnlimited;
}

// Returns whether the DCMs of all hosts together can take `total` without overloading a port or link. The
// DCMs of a host have to take the data that its link cannot send away, up to their own limit.
bool possible(const std::vector<FarmHost>& hosts, double total) {
  double needed = 0;
  double room = 0;
  for (const FarmHost& host : hosts) {
    const double own = std::max(0.0, total - outlet(host));
    if (own > intake(host)) return false;
    needed += own;
    room += intake(host);
  }
  return needed <= total && total <= room;
}

// Returns each node's share of all sources that are read, by name.
std::map<std::string_view, double> data_shares(const config::FarmPlan& plan) {
  const auto read = static_cast<double>(plan.sources.size() - plan.masked.size());
  std::map<std::string_view, double> shares;
  for (const config::NodePlan& node : plan.nodes) {
    const auto sources = std::count_if(node.sources.begin(), node.sources.end(), [&](SourceId source) {
      return !std::binary_search(plan.masked.begin(), plan.masked.end(), source);
    });
    if (sources > 0 && !node.masked) shares[node.name] = static_cast<double>(sources) / read;
  }
  return shares;
}

}  // namespace

double FarmNetwork::bits_per_s() const {
  double high = 1;
  while (possible(hosts, high)) {
    high *= 2;
    if (high > kBeyond) return 0;
  }
  double low = 0;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (possible(hosts, middle) ? low : high) = middle;
  }
  return low;
}

const FarmHost* FarmNetwork::port() const {
  const FarmHost* slowest = nullptr;
  for (const FarmHost& host : hosts) {
    if (host.dcms == 0 || host.port_bits_per_s <= 0) continue;
    if (slowest == nullptr || host.port_bits_per_s < slowest->port_bits_per_s) slowest = &host;
  }
  return slowest;
}

FarmNetwork network_of(const v1::Farm& farm, const config::FarmPlan& plan) {
  FarmNetwork network;
  const auto rate = static_cast<double>(config::parse_rate(farm.network().port_rate()).value_or(0));
  const auto buffer = static_cast<double>(config::parse_buffer(farm.network().port_buffer()).value_or(0));
  const auto shares = data_shares(plan);
  network.readouts = static_cast<std::uint32_t>(shares.size());
  std::map<std::string_view, std::uint32_t> ports;
  for (const config::NodePlan& node : plan.nodes) {
    const auto share = shares.find(node.name);
    if (share != shares.end()) network.hosts.push_back({rate, rate, buffer, 0, share->second});
    if (node.role == Role::dcm && !node.masked) ++ports[node.port];
  }
  for (const auto& [port, dcms] : ports) network.hosts.push_back({rate, rate, buffer, dcms, 0});
  return network;
}

FarmNetwork network_of(const lab::LabPlan& lab, const config::FarmPlan& plan, double from_s, double to_s) {
  FarmNetwork network;
  network.mtu = lab.mtu;
  for (const auto& [name, value] : lab.sysctls) {
    if (name == "ipv4/tcp_timestamps") network.timestamps = value != "0";
  }
  const auto shares = data_shares(plan);
  network.readouts = static_cast<std::uint32_t>(shares.size());
  for (std::size_t i = 0; i < lab.hosts.size(); ++i) {
    const lab::Host& host = lab.hosts[i];
    FarmHost& here = network.hosts.emplace_back();
    for (std::size_t p = 0; p < lab.ports.size(); ++p) {
      const lab::Port& port = lab.ports[p];
      if (port.to_host && port.device == host.name) {
        here.port_bits_per_s = lab.mean_rate(p, from_s, to_s);
        here.buffer_bytes = static_cast<double>(port.buffer_bytes);
      } else if (port.space == lab::kFirstHost + i) {
        here.link_bits_per_s = lab.mean_rate(p, from_s, to_s);
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
  return network;
}

namespace {

// Returns the smallest overhead of a slice's fragments: one header each, or one row each and a header per
// readout.
double header_bytes(const SliceLoad& load, double readouts) {
  const double alone = load.fragments * wire::kHeaderBytes;
  if (load.fragments <= 0 || load.bytes / load.fragments > wire::kBlockFragmentMax) return alone;
  return std::min(alone, load.fragments * wire::kBlockRowBytes + readouts * wire::kHeaderBytes);
}

}  // namespace

Theory theory_of(const FarmNetwork& network, const SliceLoad& load) {
  Theory theory;
  const FarmHost* port = network.port();
  if (port != nullptr) theory.dcms_per_port = port->dcms;
  const double bits_per_s = network.bits_per_s();
  if (bits_per_s <= 0 || load.bytes <= 0) return theory;
  const double headers = header_bytes(load, network.readouts);
  theory.goodput_bytes_per_s = shaping::stream_goodput(network.link(bits_per_s), load.bytes, headers);
  if (network.readouts > 0) {
    theory.thesis_goodput_bytes_per_s =
        shaping::thesis_goodput(bits_per_s, load.bytes / network.readouts, headers / network.readouts);
  }
  if (port == nullptr) return theory;
  const double through = load.bytes * (1 - port->data_share);
  const double goodput = shaping::stream_goodput(network.link(port->port_bits_per_s), load.bytes, headers);
  theory.serialisation_us = static_cast<double>(shaping::serialisation(through, goodput)) / kMicrosecond;
  return theory;
}

}  // namespace weir::run_record
