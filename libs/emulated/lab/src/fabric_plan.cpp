#include "units.hpp"
#include <weir/base/assert.hpp>
#include <weir/lab/fabric_plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace weir::lab {
namespace {

constexpr std::size_t kNoPort = SIZE_MAX;
constexpr StreamId kCardsPerSwitch = 1024;

std::uint64_t bytes_during(DurationNs duration, std::uint64_t bits_per_s) {
  return static_cast<std::uint64_t>(
      std::ceil(seconds(duration) * static_cast<double>(bits_per_s) / kBitsPerByte));
}

}  // namespace

FabricPlan::FabricPlan(const LabPlan& plan)
    : hosts_(plan.hosts.size()),
      back_pressure_(plan.back_pressure),
      frame_bytes_max_(plan.mtu + kEthernetHeaderBytes),
      ports_(plan.ports.size()) {
  WEIR_ASSERT(plan.has_fabric());
  for (const LabHost& host : plan.hosts)
    cards_.push_back(host.card == 0 ? 0 : (host.attached + 1) * kCardsPerSwitch + host.card);
  connect(plan);
  route(plan);
  streams_ = streams_of_ports();
  divide_buffers(plan);
}

void FabricPlan::connect(const LabPlan& plan) {
  host_ports_.assign(hosts_, kNoPort);
  for (std::size_t i = 0; i < plan.ports.size(); ++i) {
    const Port& port = plan.ports[i];
    ports_[i].rate_bits_per_s = port.rate_bits_per_s;
    if (port.space == kSwitches) {
      by_device_[port.device] = i;
    } else {
      host_ports_[port.space - kFirstHost] = i;
    }
  }
  const auto join = [&](std::size_t a, std::size_t b, FabricNode from, FabricNode to, DurationNs delay_ns) {
    WEIR_ASSERT(a != kNoPort && b != kNoPort);
    ports_[a].from = ports_[b].to = from;
    ports_[a].to = ports_[b].from = to;
    ports_[a].back = b;
    ports_[b].back = a;
    ports_[a].delay_ns = ports_[b].delay_ns = delay_ns;
  };
  for (std::size_t i = 0; i < hosts_; ++i) {
    const LabHost& host = plan.hosts[i];
    join(host_ports_[i], by_device_.at(host.name), i, hosts_ + host.attached, host.delay_ns);
  }
  for (const Link& link : plan.links) {
    join(by_device_.at(link.from_device), by_device_.at(link.to_device), hosts_ + link.from, hosts_ + link.to,
         link.delay_ns);
  }
}

void FabricPlan::route(const LabPlan& plan) {
  routes_.assign(plan.switches.size() * hosts_, kNoPort);
  for (const Forward& forward : plan.forwards) {
    const std::size_t port = by_device_.at(forward.device);
    routes_[(ports_[port].from - hosts_) * hosts_ + forward.host] = port;
  }
  for (const Steer& steer : plan.steers) steers_[{steer.from, steer.to}] = by_device_.at(steer.device);
}

std::size_t FabricPlan::next_port(std::size_t came_by, std::size_t source, std::size_t destination) const {
  if (!steers_.empty() && is_host(ports_[came_by].from)) {
    const auto steered = steers_.find({source, destination});
    if (steered != steers_.end()) return steered->second;
  }
  WEIR_ASSERT(came_by < ports_.size() && ports_[came_by].to >= hosts_ && destination < hosts_);
  const std::size_t port = routes_[(ports_[came_by].to - hosts_) * hosts_ + destination];
  WEIR_ASSERT(port != kNoPort);
  return port;
}

StreamId FabricPlan::stream(std::size_t source, std::size_t destination) const {
  if (back_pressure_ == FlowControl::pause) return 0;
  const StreamId card = cards_[destination];
  return card != 0 ? hosts_ * hosts_ + card : source * hosts_ + destination;
}

std::vector<std::size_t> FabricPlan::streams_of_ports() const {
  if (back_pressure_ == FlowControl::pause) return std::vector<std::size_t>(ports_.size(), 1);
  std::vector<std::set<StreamId>> streams(ports_.size());
  for (std::size_t source = 0; source < hosts_; ++source) {
    for (std::size_t destination = 0; destination < hosts_; ++destination) {
      if (source == destination) continue;
      std::size_t port = host_ports_[source];
      for (std::size_t hops = 0; ports_[port].to != destination; ++hops) {
        WEIR_ASSERT(hops < ports_.size());
        streams[port].insert(stream(source, destination));
        port = next_port(port, source, destination);
      }
    }
  }
  std::vector<std::size_t> counts;
  for (const auto& passing : streams) counts.push_back(std::max<std::size_t>(1, passing.size()));
  return counts;
}

// After a switch has asked for a pause, frames arrive that were on the cable then, those that were sent
// before the request arrived, the frame that was being sent then, and the one that crossed the mark.
void FabricPlan::divide_buffers(const LabPlan& plan) {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    FabricPort& port = ports_[i];
    if (is_host(port.to)) continue;
    const std::uint64_t frame = frame_bytes_max_;
    const std::uint64_t headroom = bytes_during(2 * port.delay_ns, port.rate_bits_per_s) + 2 * frame;
    port.limit = plan.ports[port.back].buffer_bytes / streams_[i];
    port.hold = port.limit > headroom ? port.limit - headroom : 0;
    port.resume = std::max(port.hold / 2, port.hold > 2 * frame ? port.hold - 2 * frame : 0);
  }
}

std::optional<std::string> FabricPlan::problem(const LabPlan& plan) const {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const FabricPort& port = ports_[i];
    if (is_host(port.to) || port.hold >= frame_bytes_max_) continue;
    const Port& buffer = plan.ports[port.back];
    const std::uint64_t headroom = bytes_during(2 * port.delay_ns, port.rate_bits_per_s);
    return fmt::format(
        "needs {} bytes of buffer at {} (for {} of {} bytes: three frames, and {} bytes until the "
        "sender stops), which has {}: make its buffer larger",
        streams_[i] * (headroom + 3 * std::uint64_t{frame_bytes_max_}), buffer.name,
        streams_[i] == 1 ? "one stream" : fmt::format("{} streams", streams_[i]),
        headroom + 3 * std::uint64_t{frame_bytes_max_}, headroom, buffer.buffer_bytes);
  }
  return std::nullopt;
}

}  // namespace weir::lab
