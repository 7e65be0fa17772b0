// Optional features of a network, each of which a search may remove.
#include "networks.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir::packet_model {
namespace {

template <typename T>
bool put(T& place, const T& value) {
  return std::exchange(place, value) != value;
}

bool for_cpus(PullNetwork& network, bool dcms, bool (*change)(Cpu&)) {
  bool changed = false;
  if (dcms) {
    for (DcmSpec& dcm : network.dcms) changed = change(dcm.cpu) || changed;
  } else {
    for (ReadoutSpec& readout : network.readouts) changed = change(readout.cpu) || changed;
  }
  return changed;
}

bool not_busy(Cpu& cpu) {
  const Cpu idle;
  const bool was = cpu.late_share > 0;
  cpu.wake_us = idle.wake_us;
  cpu.late_share = cpu.late_ms = cpu.slice_ms = 0;
  return was;
}
bool not_pausing(Cpu& cpu) { return put(cpu.pause_ms, 0.0); }
bool not_slow(Cpu& cpu) { return put(cpu.request_us, Cpu{}.request_us); }

template <typename Change>
bool for_links(PullNetwork& network, Change change) {
  bool changed = false;
  for (auto* links : {&network.ports, &network.core, &network.line}) {
    for (LinkSpec& link : *links) changed = change(link) || changed;
  }
  return changed;
}

bool near(PullNetwork& network) {
  bool changed = false;
  for (ReadoutSpec& readout : network.readouts)
    changed = put(readout.round_trip_ns, ReadoutSpec{}.round_trip_ns) || changed;
  return changed;
}

bool same_sizes(PullNetwork& network) {
  double sum = 0;
  for (const ReadoutSpec& readout : network.readouts) sum += readout.bytes;
  bool changed = false;
  for (ReadoutSpec& readout : network.readouts)
    changed =
        put(readout.bytes, std::max(1.0, std::round(sum / static_cast<double>(network.readouts.size())))) ||
        changed;
  return changed;
}

bool fast_uplinks(PullNetwork& network) {
  double fastest = 1e9;
  for (const LinkSpec& port : network.ports) fastest = std::max(fastest, port.rates[0].bits_per_s);
  bool changed = false;
  for (ReadoutSpec& readout : network.readouts) changed = put(readout.uplink_bits_per_s, fastest) || changed;
  return changed;
}

bool one_dcm(PullNetwork& network) {
  if (network.dcms.size() == 1 || network.hosts_together) return false;
  network.dcms.resize(1);
  network.ports.resize(1);
  network.foreign.resize(std::min<std::size_t>(network.foreign.size(), 1));
  network.readouts.resize(network.dcms[0].readouts);
  network.strangers = false;
  return true;
}

bool fewer_readouts(PullNetwork& network) {
  if (network.readouts.size() < 4 || network.hosts_together || network.strangers) return false;
  network.readouts.resize(network.readouts.size() / 2);
  for (DcmSpec& dcm : network.dcms) dcm.readouts = static_cast<std::uint32_t>(network.readouts.size());
  return true;
}

struct Feature {
  const char* name;
  bool (*take_away)(PullNetwork&);
};

constexpr Feature kFeatures[] = {
    {"foreign", [](PullNetwork& n) { return !std::exchange(n.foreign, {}).empty(); }},
    {"rate-changes",
     [](PullNetwork& n) {
       return for_links(n, [](LinkSpec& link) {
         const bool changes = link.rates.size() > 1;
         link.rates.resize(1);
         return changes;
       });
     }},
    {"loss", [](PullNetwork& n) { return for_links(n, [](LinkSpec& link) { return put(link.loss, 0.0); }); }},
    {"overtaking", [](PullNetwork& n) { return put(n.reordered, 0.0); }},
    {"offered-rate",
     [](PullNetwork& n) {
       bool changed = false;
       for (DcmSpec& dcm : n.dcms) changed = put(dcm.slices_per_s, 0.0) || changed;
       return changed;
     }},
    {"busy", [](PullNetwork& n) { return for_cpus(n, false, not_busy); }},
    {"pauses", [](PullNetwork& n) { return for_cpus(n, false, not_pausing); }},
    {"slow", [](PullNetwork& n) { return for_cpus(n, false, not_slow); }},
    {"busy-dcm", [](PullNetwork& n) { return for_cpus(n, true, not_busy); }},
    {"pauses-dcm", [](PullNetwork& n) { return for_cpus(n, true, not_pausing); }},
    {"slow-dcm", [](PullNetwork& n) { return for_cpus(n, true, not_slow); }},
    {"dcms", one_dcm},
    {"strangers", [](PullNetwork& n) { return std::exchange(n.strangers, false); }},
    {"core", [](PullNetwork& n) { return !std::exchange(n.core, {}).empty(); }},
    {"line", [](PullNetwork& n) { return !std::exchange(n.line, {}).empty(); }},
    {"far", near},
    {"uplinks", fast_uplinks},
    {"spread",
     [](PullNetwork& n) {
       bool changed = false;
       for (ReadoutSpec& readout : n.readouts) changed = put(readout.spread, Spread::fixed) || changed;
       return changed;
     }},
    {"uneven", same_sizes},
    {"half-readouts", fewer_readouts},
    {"burst",
     [](PullNetwork& n) { return for_links(n, [](LinkSpec& link) { return put(link.burst_bytes, 0.0); }); }},
    {"slow-start", [](PullNetwork& n) { return std::exchange(n.tcp.slow_start_after_idle, false); }},
};

}  // namespace

const std::vector<std::string>& features() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Feature& feature : kFeatures) all.emplace_back(feature.name);
    return all;
  }();
  return names;
}

bool take_away(PullNetwork& network, const std::string& feature) {
  for (const Feature& one : kFeatures) {
    if (feature == one.name) return one.take_away(network);
  }
  return false;
}

}  // namespace weir::packet_model
