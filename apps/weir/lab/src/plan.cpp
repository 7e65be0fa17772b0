#include <weir/lab/plan.hpp>

#include <algorithm>

namespace weir::lab {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kEthernetHeaderBytes = 14;
constexpr double kTcpIpHeaderBytes = 20 + 20 + 12;  // the last are the time stamps

}  // namespace

std::string LabPlan::space_name(Space space) const {
  if (space == kSwitches) return "switches";
  return space == kControl ? "control" : hosts[space - kFirstHost].name;
}

std::vector<Port> LabPlan::counted_ports() const {
  std::vector<Port> counted = ports;
  if (!line) return counted;
  for (const std::size_t from : {0, 1}) {
    counted.push_back({switches[from] + ">" + switches[1 - from], kSwitches,
                       from == 0 ? line->from_device : line->to_device, line->rate_bits_per_s,
                       line->buffer_bytes, false});
  }
  return counted;
}

double LabPlan::payload_bound_bytes_per_s() const {
  double bits_per_s = 0;
  for (const Host& host : hosts) {
    if (!host.has_dcm) continue;
    const auto port = std::find_if(ports.begin(), ports.end(),
                                   [&](const Port& one) { return one.to_host && one.device == host.name; });
    if (port == ports.end() || host.remote_share <= 0) return 0;
    bits_per_s += static_cast<double>(port->rate_bits_per_s) / host.remote_share;
  }
  return bits_per_s / kBitsPerByte * (mtu - kTcpIpHeaderBytes) /
         (mtu + kEthernetHeaderBytes + kOverheadBytes);
}

std::string control_address() { return "10.78.255.254"; }

}  // namespace weir::lab
