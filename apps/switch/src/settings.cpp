#include "settings.hpp"

#include <weir/config/rate.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <utility>

namespace weir::switch_node {
namespace {

using config::ProblemKind;
using config::Problems;
using packet_switch::PacketSwitchSettings;
using switching::Queueing;
using switching::WhenFull;

Queueing queueing_of(v1::Switch::Queues word) {
  switch (word) {
    case v1::Switch::QUEUES_OUTPUT:
      return Queueing::output;
    case v1::Switch::QUEUES_VIRTUAL_OUTPUT:
      return Queueing::virtual_output;
    case v1::Switch::QUEUES_ONE:
      return Queueing::fifo;
    case v1::Switch::QUEUES_RINGS:
      break;
  }
  return Queueing::rings;
}

constexpr std::uint32_t kBatchFrames = 32;  // in the machine on their way to the interface

class Reader {
 public:
  explicit Reader(const config::SwitchFile& file) : file_(file), from_(file.settings) {}

  Expected<PacketSwitchSettings, Problems> read() {
    switching::SwitchSettings& machine = settings_.machine;
    machine.queueing = queueing_of(from_.queues());
    machine.when_full = from_.when_full() == v1::Switch::WHEN_FULL_HOLD ? WhenFull::hold : WhenFull::drop;
    machine.frame_bytes_max = from_.mtu() + static_cast<std::uint32_t>(switching::kEthernetHeaderBytes);
    machine.other_frames = from_.other_packets();
    machine.mark_frames = from_.mark_packets();
    for (int i = 0; i < from_.ports_size(); ++i) add_port(i);
    for (int i = 0; i < from_.rings_size(); ++i) add_ring(i);
    if (problems_.empty()) {
      if (auto problem = switching::problem_of(machine))
        report("ports", ProblemKind::inconsistent, std::move(*problem));
    }
    if (!problems_.empty()) return Unexpected<Problems>(std::move(problems_));
    return std::move(settings_);
  }

 private:
  void report(const std::string& key, ProblemKind kind, std::string what) {
    if (problems_.size() < config::kProblemsMax)
      problems_.push_back({kind, config::Severity::error, file_.locations.of(key), key, std::move(what)});
  }

  switching::Address address(const std::string& text, const std::string& key) {
    in_addr bytes{};
    if (::inet_pton(AF_INET, text.c_str(), &bytes) != 1)
      report(key, ProblemKind::bad_value, fmt::format("'{}' is not an IPv4 address, as 10.0.0.1", text));
    return ntohl(bytes.s_addr);
  }

  void add_port(int i) {
    const v1::SwitchPortSettings& own = from_.ports(i);
    const std::string key = fmt::format("ports[{}].", i);
    const auto& interfaces = settings_.interfaces;
    if (std::any_of(interfaces.begin(), interfaces.end(),
                    [&](const auto& other) { return other.device == own.interface(); }))
      report(key + "interface", ProblemKind::inconsistent,
             fmt::format("'{}' is a port already", own.interface()));
    packet_switch::PortInterface interface;
    interface.device = own.interface();
    interface.frame_bytes_max = settings_.machine.frame_bytes_max;
    interface.receive_frames = own.receive_packets();
    interface.transmit_frames = own.transmit_packets();
    settings_.interfaces.push_back(interface);
    switching::PortSettings port;
    port.name = own.interface();
    port.transmit_frames = std::min(own.transmit_packets(), kBatchFrames);
    port.receive_frames = own.receive_packets();
    port.bits_per_s = config::parse_rate(own.rate()).value_or(0);
    port.obeys_pauses = own.obey_pauses();
    port.pause_bytes = config::parse_buffer(own.pause_above()).value_or(0);
    settings_.machine.ports.push_back(port);
    for (int n = 0; n < own.addresses_size(); ++n) {
      settings_.machine.routes.push_back(
          {address(own.addresses(n), fmt::format("{}addresses[{}]", key, n)), static_cast<std::size_t>(i)});
    }
  }

  void add_ring(int i) {
    const v1::SwitchRingSettings& own = from_.rings(i);
    const std::string key = fmt::format("rings[{}].", i);
    const auto& interfaces = settings_.interfaces;
    const auto via = std::find_if(interfaces.begin(), interfaces.end(),
                                  [&](const auto& port) { return port.device == own.via(); });
    if (via == interfaces.end())
      report(key + "via", ProblemKind::inconsistent, fmt::format("`ports` has no interface '{}'", own.via()));
    settings_.machine.rings.push_back({.name = own.name(),
                                       .address = address(own.address(), key + "address"),
                                       .port = static_cast<std::uint16_t>(own.port()),
                                       .via = static_cast<std::size_t>(via - interfaces.begin()),
                                       .frames_max = own.packets(),
                                       .bytes_max = config::parse_buffer(own.bytes()).value_or(0),
                                       .bits_per_s = config::parse_rate(own.rate()).value_or(0),
                                       .burst_bytes = config::parse_buffer(own.burst()).value_or(0)});
  }

  const config::SwitchFile& file_;
  const v1::Switch& from_;
  PacketSwitchSettings settings_;
  Problems problems_;
};

}  // namespace

Expected<PacketSwitchSettings, Problems> settings_of(const config::SwitchFile& file) {
  return Reader(file).read();
}

}  // namespace weir::switch_node
