#include "cases.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

namespace weir::packet_model {
namespace {

constexpr double kBurst = 16'384;  // burst size of the lab's ports
constexpr double kInFlight = 8e6;  // bytes

LinkSpec link(double bits_per_s, double buffer_bytes) { return {{{0, bits_per_s}}, buffer_bytes, kBurst, 0}; }

// One DCM at one port, on a quiet network.
PullNetwork plain(const char* name, std::uint32_t readouts, double port_bits, double buffer, double bytes) {
  PullNetwork network;
  network.name = name;
  ReadoutSpec readout;
  readout.bytes = bytes;
  readout.uplink_bits_per_s = std::max(1e9, port_bits);
  network.readouts.assign(readouts, readout);
  network.ports = {link(port_bits, buffer)};
  DcmSpec dcm;
  dcm.readouts = readouts;
  dcm.credits = credits_for(bytes * readouts);
  network.dcms = {dcm};
  network.length_ns = 8 * kSecond;
  return network;
}

PullNetwork busy_1g() {
  PullNetwork network = plain("busy-1g", 8, 1e9, 256e3, 65536);
  for (ReadoutSpec& readout : network.readouts) readout.cpu = busy_cpu();
  network.dcms[0].cpu = busy_cpu();
  network.length_ns = 4 * kSecond;
  return network;
}

PullNetwork busy_13() {
  PullNetwork network = plain("busy-13", 13, 200e6, 256e3, 16e3);
  double bytes = 4e3;
  for (ReadoutSpec& readout : network.readouts) {
    readout.bytes = bytes;
    bytes = bytes < 60e3 ? bytes * 2 : 4e3;
    readout.cpu = busy_cpu();
  }
  network.dcms[0].cpu = busy_cpu();
  return network;
}

PullNetwork mixed_13() {
  PullNetwork network = busy_13();
  network.name = "mixed-13";
  for (ReadoutSpec& readout : network.readouts) {
    readout.cpu = {};
    readout.spread = Spread::exponential;
  }
  network.dcms[0].cpu = {};
  return network;
}

PullNetwork wan(const char* name, DurationNs round_trip_ns, double loss) {
  PullNetwork network = plain(name, 8, 1e9, 500e3, 65536);
  network.line = {link(200e6, 1e6)};
  network.line[0].loss = loss;
  for (ReadoutSpec& readout : network.readouts) {
    readout.round_trip_ns = round_trip_ns;
    readout.over_line = true;
  }
  network.length_ns = 12 * kSecond;
  return network;
}

PullNetwork one_slow() {
  PullNetwork network = plain("one-slow", 8, 200e6, 256e3, 65536);
  network.readouts[3].uplink_bits_per_s = 10e6;
  network.length_ns = 20 * kSecond;
  return network;
}

PullNetwork one_pauses() {
  PullNetwork network = plain("one-pauses", 8, 200e6, 256e3, 65536);
  network.readouts[3].cpu.pause_ms = 80;
  return network;
}

PullNetwork all_to_all() {
  PullNetwork network = plain("all-to-all-6x2", 6, 50e6, 100e3, 65536);
  for (ReadoutSpec& readout : network.readouts) readout.uplink_bits_per_s = 50e6;
  network.hosts_together = true;
  network.ports.assign(6, network.ports[0]);
  network.dcms[0].credits = 8;
  network.dcms.assign(12, network.dcms[0]);
  for (std::uint32_t d = 0; d < 12; ++d) network.dcms[d].port = d / 2;
  return network;
}

// Figure 4.13 of Jereczek's thesis (2017) as `weir bench thesis` scales it: a response is four segments, so
// the loss of one has no three duplicates and costs a timeout.
PullNetwork old_tcp(const char* name, double load) {
  PullNetwork network = plain(name, 6, 30e6, 13e3, 5700);
  for (ReadoutSpec& readout : network.readouts) readout.uplink_bits_per_s = 30e6;
  network.tcp.selective = false;
  network.hosts_together = true;
  network.ports[0].burst_bytes = 4096;
  network.ports.assign(6, network.ports[0]);
  network.dcms[0].credits = 1;
  network.dcms.assign(12, network.dcms[0]);
  for (std::uint32_t d = 0; d < 12; ++d) network.dcms[d].port = d / 2;
  const double slices_per_s = best_bytes_per_s(network, 0) / (6 * 5700 * 12);
  if (load < 1) {
    for (DcmSpec& dcm : network.dcms) dcm.slices_per_s = load * slices_per_s;
  }
  network.length_ns = 16 * kSecond;
  return network;
}

// The same on hosts with fewer cores than processes: this share of the wake-ups is late by a millisecond.
PullNetwork old_tcp_busy(const char* name, double load, double late_share) {
  PullNetwork network = old_tcp(name, load);
  Cpu cpu;
  cpu.wake_us = 60;
  cpu.late_share = late_share;
  cpu.late_ms = 1;
  for (ReadoutSpec& readout : network.readouts) readout.cpu = cpu;
  for (DcmSpec& dcm : network.dcms) dcm.cpu = cpu;
  return network;
}

// The same TCP where hosts, not the line, need a window.
PullNetwork old_tcp_fast() {
  PullNetwork network = plain("old-tcp-1g", 6, 1e9, 100e3, 65536);
  for (ReadoutSpec& readout : network.readouts) readout.uplink_bits_per_s = 1e9;
  network.tcp.selective = false;
  network.ports.assign(6, network.ports[0]);
  network.dcms.assign(12, network.dcms[0]);
  for (std::uint32_t d = 0; d < 12; ++d) network.dcms[d].port = d / 2;
  return network;
}

// The bottleneck is between two racks.
PullNetwork core() {
  PullNetwork network = plain("core", 6, 200e6, 100e3, 65536);
  network.core = {link(200e6, 100e3)};
  network.ports.assign(3, network.ports[0]);
  network.dcms.assign(3, network.dcms[0]);
  for (std::uint32_t d = 0; d < 3; ++d) network.dcms[d].port = d;
  return network;
}

// As in `weir bench field`.
PullNetwork near_and_far() {
  PullNetwork network = plain("near-and-far", 8, 200e6, 100e3, 65536);
  network.line = {link(1e9, 4e6)};
  for (std::size_t r = 4; r < 8; ++r) {
    network.readouts[r].round_trip_ns = 40 * kMillisecond;
    network.readouts[r].over_line = true;
  }
  return network;
}

PullNetwork port_changes() {
  PullNetwork network = plain("port-changes", 8, 150e6, 256e3, 65536);
  network.ports[0].rates = {{0, 150e6}, {4 * kSecond, 40e6}, {8 * kSecond, 150e6}};
  network.length_ns = 12 * kSecond;
  return network;
}

PullNetwork foreign_udp() {
  PullNetwork network = plain("foreign-udp", 8, 200e6, 256e3, 65536);
  network.foreign = {{0, 80e6, 2 * kSecond, 6 * kSecond}};
  return network;
}

PullNetwork foreign_tcp() {
  PullNetwork network = plain("foreign-tcp", 8, 200e6, 256e3, 65536);
  network.foreign = {{0, 0, 2 * kSecond, 6 * kSecond}};
  return network;
}

PullNetwork two_farms() {
  PullNetwork network = plain("two-farms", 16, 200e6, 256e3, 65536);
  network.strangers = true;
  network.dcms[0].readouts = 8;
  network.dcms.push_back(network.dcms[0]);
  network.dcms[1].first_readout = 8;
  return network;
}

}  // namespace

std::uint32_t credits_for(double slice_bytes) {
  return static_cast<std::uint32_t>(std::clamp(kInFlight / slice_bytes, 4.0, 256.0));
}

Cpu busy_cpu() {
  Cpu cpu;
  cpu.wake_us = 20;
  cpu.late_share = 0.3;
  cpu.late_ms = 2;
  cpu.slice_ms = 3;
  return cpu;
}

std::vector<PullNetwork> cases() {
  return {plain("lan-8to1", 8, 200e6, 256e3, 65536),
          plain("lan-24to1", 24, 200e6, 256e3, 65536),
          plain("lan-1g", 8, 1e9, 100e3, 65536),
          plain("lan-10g", 8, 10e9, 1e6, 65536),
          plain("buffer-30k", 8, 200e6, 30e3, 65536),
          plain("buffer-1m", 8, 200e6, 1e6, 65536),
          mixed_13(),
          busy_13(),
          busy_1g(),
          wan("wan-20ms", 20 * kMillisecond, 0),
          wan("wan-40ms", 40 * kMillisecond, 0),
          wan("wan-40ms-loss", 40 * kMillisecond, 1e-4),
          wan("wan-100ms", 100 * kMillisecond, 0),
          one_slow(),
          one_pauses(),
          all_to_all(),
          old_tcp("old-tcp-15", 0.15),
          old_tcp("old-tcp-50", 0.5),
          old_tcp("old-tcp-102", 1.02),
          old_tcp_busy("old-tcp-15-busy", 0.15, 0.1),
          old_tcp_busy("old-tcp-102-busy", 1.02, 0.1),
          old_tcp_busy("old-tcp-102-busier", 1.02, 0.4),
          old_tcp_fast(),
          core(),
          near_and_far(),
          port_changes(),
          foreign_udp(),
          foreign_tcp(),
          two_farms()};
}

PullNetwork case_named(std::string_view name) {
  for (const PullNetwork& network : cases()) {
    if (network.name == name) return network;
  }
  throw std::runtime_error("no case is called '" + std::string(name) + "'");
}

}  // namespace weir::packet_model
