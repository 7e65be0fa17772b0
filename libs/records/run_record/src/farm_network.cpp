#include "packing.hpp"
#include <weir/base/assert.hpp>
#include <weir/config/rate.hpp>
#include <weir/run_record/farm_network.hpp>
#include <weir/wire/block.hpp>
#include <weir/wire/frame.hpp>

#include <algorithm>
#include <map>
#include <string_view>

namespace weir::run_record {
namespace {

constexpr double kBeyond = 1e15;  // bits per second: above any network's rate

// Hosts that are alike: their DCMs receive equal parts of the best total.
struct HostClass {
  FarmHost host;
  std::vector<double> link_parts;  // by link
  double count = 0;
};

bool alike(const HostClass& a, const HostClass& b) {
  return a.host.port_bits_per_s == b.host.port_bits_per_s &&
         a.host.link_bits_per_s == b.host.link_bits_per_s && (a.host.dcms > 0) == (b.host.dcms > 0) &&
         a.host.data_share == b.host.data_share && a.link_parts == b.link_parts;
}

std::vector<HostClass> classes_of(const FarmNetwork& network) {
  std::vector<HostClass> classes;
  for (std::size_t h = 0; h < network.hosts.size(); ++h) {
    HostClass one{network.hosts[h], {}, 1};
    for (const FarmLink& link : network.links) one.link_parts.push_back(link.data_parts[h]);
    const auto known = std::find_if(classes.begin(), classes.end(),
                                    [&](const HostClass& other) { return alike(one, other); });
    if (known != classes.end()) {
      known->count += 1;
    } else {
      classes.push_back(std::move(one));
    }
  }
  return classes;
}

}  // namespace

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

std::vector<std::string> narrow_links(const FarmNetwork& network) {
  std::vector<std::string> names(network.hosts.size());
  std::vector<double> least;  // of a DCM, by host
  for (const FarmHost& host : network.hosts) {
    const double load = host.dcms * (1 - host.data_share);
    least.push_back(host.port_bits_per_s > 0 && load > 0 ? host.port_bits_per_s / load : kBeyond);
  }
  for (const FarmLink& link : network.links) {
    double load = 0;
    for (std::size_t h = 0; h < names.size(); ++h) load += network.hosts[h].dcms * link.data_parts[h];
    if (load <= 0 || link.bits_per_s <= 0) continue;
    for (std::size_t h = 0; h < names.size(); ++h) {
      if (link.data_parts[h] <= 0 || link.bits_per_s / load >= least[h]) continue;
      least[h] = link.bits_per_s / load;
      names[h] = link.name;
    }
  }
  return names;
}

// A linear program: a column for the rate into the DCMs of each class, and a row for each limit.
double FarmNetwork::bits_per_s() const {
  std::vector<HostClass> classes = classes_of(*this);
  const auto receivers = std::stable_partition(classes.begin(), classes.end(),
                                               [](const HostClass& one) { return one.host.dcms > 0; });
  const auto columns = static_cast<std::size_t>(receivers - classes.begin());
  if (columns == 0) return 0;
  std::vector<std::vector<double>> rows;
  std::vector<double> limits;
  const auto add_row = [&](double limit, auto coefficient) {
    if (limit <= 0) return;
    std::vector<double> row;
    for (std::size_t c = 0; c < columns; ++c) row.push_back(coefficient(c));
    if (*std::max_element(row.begin(), row.end()) <= 0) return;
    rows.push_back(std::move(row));
    limits.push_back(limit);
  };
  for (std::size_t own = 0; own < classes.size(); ++own) {
    const FarmHost& host = classes[own].host;
    const double alone = 1 / classes[own].count;
    add_row(host.port_bits_per_s,
            [&](std::size_t c) { return c == own ? alone * (1 - host.data_share) : 0.0; });
    add_row(host.link_bits_per_s,
            [&](std::size_t c) { return host.data_share * (c == own ? 1 - alone : 1); });
  }
  for (std::size_t link = 0; link < links.size(); ++link) {
    WEIR_ASSERT(links[link].data_parts.size() == hosts.size());
    add_row(links[link].bits_per_s, [&](std::size_t c) { return classes[c].link_parts[link]; });
  }
  add_row(kBeyond, [](std::size_t) { return 1.0; });  // the sum is bounded without limits, too
  const double most = largest_sum(rows, limits);
  return most < kBeyond / 2 ? most : 0;
}

const FarmHost* FarmNetwork::port() const {
  const FarmHost* slowest = nullptr;
  for (const FarmHost& host : hosts) {
    if (host.dcms == 0 || host.port_bits_per_s <= 0) continue;
    if (slowest == nullptr || host.port_bits_per_s < slowest->port_bits_per_s) slowest = &host;
  }
  return slowest;
}

FarmNetwork network_of(const config::PlannedFarm& planned) {
  const v1::NetworkSettings& settings = planned.farm.network();
  const config::FarmPlan& plan = planned.plan;
  FarmNetwork network;
  const auto rate = static_cast<double>(config::parse_rate(settings.port_rate()).value_or(0));
  const auto buffer = static_cast<double>(config::parse_buffer(settings.port_buffer()).value_or(0));
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

namespace {

// Returns the smallest overhead of a slice's fragments: one header each, or one row each and an entry per
// readout in a block with other slices.
double header_bytes(const SliceLoad& load, double readouts) {
  const double alone = load.fragments * wire::kHeaderBytes;
  if (load.fragments <= 0 || load.bytes / load.fragments > wire::kBlockFragmentMax) return alone;
  return std::min(alone, load.fragments * wire::kBlockRowBytes + readouts * wire::kBlockSliceBytes);
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
