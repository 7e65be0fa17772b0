#include <weir/base/assert.hpp>
#include <weir/lab/software_plan.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <map>

namespace weir::lab {
namespace {

constexpr std::uint32_t kTransmitFrames = 64;  // of a port without a limit
constexpr std::uint32_t kTransmitLeast = 4;
constexpr std::uint32_t kOtherFrames = 256;  // of each port: requests, acknowledgements
constexpr std::uint32_t kBatchFrames = 32;   // in the machine on their way to the interface

switching::Address number_of(const std::string& address) {
  in_addr bytes{};
  const bool valid = ::inet_pton(AF_INET, address.c_str(), &bytes) == 1;
  WEIR_ASSERT(valid);
  return ntohl(bytes.s_addr);
}

class Builder {
 public:
  explicit Builder(const LabPlan& plan) : plan_(plan), switches_(plan.switches.size()) {
    for (std::size_t i = 0; i < plan.ports.size(); ++i) {
      if (plan.ports[i].space == kSwitches) limits_[plan.ports[i].device] = i;
    }
  }

  std::vector<SoftwareSwitch> build() {
    for (SoftwareSwitch& one : switches_) {
      one.settings.machine.queueing = *plan_.software;
      one.settings.machine.frame_bytes_max = plan_.mtu + kEthernetHeaderBytes;
      one.settings.machine.other_frames = kOtherFrames;
      one.settings.machine.mark_frames = plan_.mark_packets;
    }
    for (const LabHost& host : plan_.hosts) {
      for (std::size_t plane = 0; plane < plan_.planes; ++plane)
        add_port(host.leg(plane).attached, host.leg(plane).device);
    }
    for (const Link& link : plan_.links) {
      add_port(link.from, link.from_device);
      add_port(link.to, link.to_device);
    }
    for (const Forward& forward : plan_.forwards) add_destination(forward);
    for (const LabHost& host : plan_.hosts) {
      if (host.relayed_nic) add_card(host);
    }
    return std::move(switches_);
  }

 private:
  struct Place {
    std::size_t at = 0;
    std::size_t port = 0;
  };

  void add_port(std::size_t at, const std::string& device) {
    SoftwareSwitch& one = switches_[at];
    const auto limit = limits_.find(device);
    packet_switch::PortInterface interface;
    interface.device = device;
    interface.frame_bytes_max = plan_.mtu + kEthernetHeaderBytes;
    interface.transmit_frames = kTransmitFrames;
    switching::PortSettings port;
    port.name = device;
    port.transmit_frames = kBatchFrames;
    if (limit != limits_.end()) {
      const Port& own = plan_.ports[limit->second];
      const auto frames = static_cast<std::uint32_t>(own.buffer_bytes / interface.frame_bytes_max);
      interface.transmit_frames = std::max(kTransmitLeast, frames);
      port.bits_per_s = own.rate_bits_per_s;
      port.obeys_pauses = true;
    }
    places_[device] = {at, one.ports.size()};
    one.ports.push_back(limit != limits_.end() ? limit->second : SIZE_MAX);
    one.settings.interfaces.push_back(interface);
    one.settings.machine.ports.push_back(port);
  }

  void add_destination(const Forward& forward) {
    const Place place = places_.at(forward.device);
    switching::SwitchSettings& machine = switches_[place.at].settings.machine;
    const auto rings = plan_.ring_addresses(forward.host, forward.plane);
    for (const std::string& address : rings) {
      machine.rings.push_back({.name = address,
                               .address = number_of(address),
                               .via = place.port,
                               .frames_max = plan_.ring_packets,
                               .bits_per_s = plan_.ring_bits_per_s,
                               .burst_bytes = plan_.burst_bytes});
    }
    const std::string own = plan_.hosts[forward.host].leg(forward.plane).address;
    if (std::find(rings.begin(), rings.end(), own) == rings.end())
      machine.routes.push_back({number_of(own), place.port});
  }

  // A host's card: a queue of its buffer towards the host. In the kernel its frames would be charged to the
  // switch's socket, and hold up its port before the card is full.
  void add_card(const LabHost& host) {
    const std::size_t at = switches_.size();
    SoftwareSwitch& card = switches_.emplace_back();
    card.is_card = true;
    card.settings.machine.queueing = switching::Queueing::output;
    card.settings.machine.frame_bytes_max = plan_.mtu + kEthernetHeaderBytes;
    add_port(at, host.card_link());
    add_port(at, host.card_exit());
    const Port& exit = plan_.ports[limits_.at(host.card_exit())];
    card.settings.machine.other_frames =
        static_cast<std::uint32_t>(exit.buffer_bytes / card.settings.machine.frame_bytes_max);
    card.settings.interfaces.back().transmit_frames = kTransmitLeast;  // its queue is in the machine
    if (plan_.nic_pauses) {
      switching::PortSettings& link = card.settings.machine.ports.front();
      link.bits_per_s = plan_.ports[limits_.at(host.name)].rate_bits_per_s;
      link.pause_bytes = exit.buffer_bytes / 2;
    }
    for (const LabHost& other : plan_.hosts) {
      const std::size_t via = &other == &host ? 1 : 0;
      card.settings.machine.routes.push_back({number_of(other.address), via});
      for (const std::string& address : other.dcm_addresses)
        card.settings.machine.routes.push_back({number_of(address), via});
    }
  }

  const LabPlan& plan_;
  std::vector<SoftwareSwitch> switches_;
  std::map<std::string, std::size_t> limits_;
  std::map<std::string, Place> places_;
};

}  // namespace

std::vector<SoftwareSwitch> software_switches(const LabPlan& plan) {
  WEIR_ASSERT(plan.software.has_value());
  auto switches = Builder(plan).build();
  for (SoftwareSwitch& one : switches) {
    const auto problem = switching::problem_of(one.settings.machine);
    WEIR_ASSERT(one.ports.empty() || !problem);
  }
  std::erase_if(switches, [](const SoftwareSwitch& one) { return one.ports.empty(); });
  return switches;
}

}  // namespace weir::lab
