#include "networks.hpp"

#include <weir/packet_model/random.hpp>

#include <algorithm>
#include <cmath>

namespace weir::packet_model {
namespace {

constexpr double kBurstBytes = 16'384;
constexpr double kSliceMax = 4e6;     // bytes: a run has some slices
constexpr double kUnderWayMax = 4e6;  // bytes that a line holds: a run has some round trips
constexpr double kPackets = 60e3;
constexpr double kPacketsMax = 400e3;
constexpr double kRoundTrips = 80;
constexpr double kSlices = 40;

bool one_in(Random& random, double n) { return random.chance(1 / n); }

Cpu draw_busy(Random& random) {
  Cpu cpu;
  cpu.wake_us = random.log_uniform(5, 100);
  cpu.late_share = random.uniform(0.05, 0.5);
  cpu.late_ms = random.log_uniform(0.3, 5);
  cpu.slice_ms = random.uniform(1, 6);
  return cpu;
}

Cpu draw_cpu(Random& random) {
  Cpu cpu;
  const double kind = random.uniform();
  if (kind < 0.5) cpu = draw_busy(random);
  if (kind >= 0.5 && kind < 0.75) {
    cpu.pause_ms = random.log_uniform(5, 100);
    cpu.pause_every_ms = random.uniform(300, 1000);
  }
  if (kind >= 0.75) cpu.request_us = random.log_uniform(20, 500);
  return cpu;
}

void draw_sizes(Random& random, PullNetwork& network) {
  const double mean =
      std::min(random.log_uniform(1e3, 1e6), kSliceMax / static_cast<double>(network.readouts.size()));
  const auto spread = static_cast<Spread>(one_in(random, 2) ? 0 : random.below(3));
  const bool uneven = one_in(random, 6);
  for (ReadoutSpec& readout : network.readouts) {
    readout.bytes = uneven ? mean * random.log_uniform(0.2, 2) : mean;
    readout.spread = spread;
  }
  if (one_in(random, 7)) network.readouts[random.below(network.readouts.size())].bytes *= 10;
}

void draw_hosts(Random& random, PullNetwork& network) {
  if (one_in(random, 3)) {
    const Cpu cpu = draw_cpu(random);
    for (ReadoutSpec& readout : network.readouts) readout.cpu = cpu;
  } else if (one_in(random, 4)) {
    network.readouts[random.below(network.readouts.size())].cpu = draw_cpu(random);
  }
  const bool busy = one_in(random, 4);
  const Cpu cpu = draw_cpu(random);
  for (DcmSpec& dcm : network.dcms) dcm.cpu = busy ? cpu : Cpu{};
}

// Draws the round trips; distant hosts get a rate that bounds the bytes in flight.
void draw_ways(Random& random, PullNetwork& network, double& rate) {
  const bool far = one_in(random, 4);
  const bool some_far = !far && one_in(random, 10);
  const double near_ns = random.log_uniform(30e3, 1e6);
  const double far_ns = random.log_uniform(1e6, far ? 300e6 : 50e6);
  if (far || some_far) rate = std::min(rate, std::max(20e6, kUnderWayMax * 8e9 / far_ns));
  for (std::size_t r = 0; r < network.readouts.size(); ++r) {
    const bool is_far = far || (some_far && r % 2 == 1);
    network.readouts[r].round_trip_ns = static_cast<DurationNs>(is_far ? far_ns : near_ns);
    network.readouts[r].over_line = is_far;
  }
  if (!(far || some_far) || one_in(random, 2)) return;
  LinkSpec line;
  line.rates = {{0, rate * random.uniform(0.3, 1)}};
  const double holds = line.rates[0].bits_per_s / 8e9 * far_ns;
  line.buffer_bytes = std::clamp(holds * random.log_uniform(0.2, 2), 60e3, 8e6);
  if (one_in(random, 3)) line.loss = random.log_uniform(1e-6, 1e-4);
  network.line = {line};
}

void draw_uplinks(Random& random, PullNetwork& network, double rate) {
  double uplink = std::max(1e9, rate);
  const auto count = static_cast<double>(network.readouts.size());
  if (network.hosts_together) {
    uplink = rate * random.uniform(0.8, 1.5);
  } else if (one_in(random, 6)) {
    uplink =
        std::max(rate * random.uniform(0.5, 2) * static_cast<double>(network.dcms.size()) / count, rate / 50);
  }
  for (ReadoutSpec& readout : network.readouts) readout.uplink_bits_per_s = uplink;
  if (one_in(random, 12))
    network.readouts[random.below(network.readouts.size())].uplink_bits_per_s = uplink / 20;
}

void draw_dcms(Random& random, PullNetwork& network, double rate) {
  LinkSpec port;
  port.rates = {{0, rate}};
  port.buffer_bytes = random.log_uniform(30e3, 2e6);
  port.burst_bytes = one_in(random, 3) ? 0 : kBurstBytes;
  if (one_in(random, 8)) port.loss = random.log_uniform(1e-6, 1e-4);
  DcmSpec dcm;
  dcm.readouts = static_cast<std::uint32_t>(network.readouts.size());
  double bytes = 0;
  for (const ReadoutSpec& readout : network.readouts) bytes += readout.bytes;
  dcm.credits = static_cast<std::uint32_t>(std::clamp(random.log_uniform(2e6, 32e6) / bytes, 2.0, 256.0));
  std::uint32_t count = one_in(random, 2.5) ? 2 + static_cast<std::uint32_t>(random.below(3)) : 1;
  if (network.hosts_together) count = dcm.readouts * (1 + static_cast<std::uint32_t>(random.below(2)));
  const bool own_ports = network.hosts_together || one_in(random, 2);
  network.dcms.assign(count, dcm);
  network.ports.assign(1, port);
  if (own_ports) network.ports.assign(network.hosts_together ? dcm.readouts : count, port);
  for (std::uint32_t d = 0; d < count; ++d)
    network.dcms[d].port = d % static_cast<std::uint32_t>(network.ports.size());
  network.strangers = count > 1 && one_in(random, 4);
  if (network.strangers && !network.hosts_together && dcm.readouts >= 2 * count) {
    const std::uint32_t own = dcm.readouts / count;
    for (std::uint32_t d = 0; d < count; ++d) {
      network.dcms[d].first_readout = d * own;
      network.dcms[d].readouts = own;
    }
  }
  if (network.ports.size() < 2 || !one_in(random, 3)) return;
  LinkSpec core = port;
  core.loss = 0;
  core.rates[0].bits_per_s = rate * static_cast<double>(network.ports.size()) * random.uniform(0.4, 0.9);
  core.buffer_bytes = random.log_uniform(60e3, 2e6);
  network.core = {core};
}

void draw_events(Random& random, PullNetwork& network, double rate) {
  const TimeNs first = network.length_ns / 3;
  const TimeNs second = 2 * first;
  if (one_in(random, 10)) {
    const double lower = rate * random.uniform(0.2, 0.7);
    for (LinkSpec& port : network.ports) port.rates = {{0, rate}, {first, lower}, {second, rate}};
  }
  if (one_in(random, 8)) {
    const bool tcp = one_in(random, 2);
    const double udp = rate * random.uniform(0.05, 0.6);
    for (std::uint32_t p = 0; p < network.ports.size(); ++p)
      network.foreign.push_back({p, tcp ? 0 : udp, first, second});
  }
}

void draw_length(PullNetwork& network) {
  const double best = best_bytes_per_s(network, 0);
  double slice = 0;
  DurationNs longest = 0;
  for (const ReadoutSpec& readout : network.readouts) {
    slice += readout.bytes;
    longest = std::max(longest, readout.round_trip_ns);
  }
  const double packets =
      std::max(kPackets, kSlices * slice * static_cast<double>(network.dcms.size()) / kSegmentBytes);
  double seconds = std::max(packets * kSegmentBytes / best, 1.0);
  seconds = std::min(seconds, std::max(0.5, kPacketsMax * kSegmentBytes / best));
  seconds = std::max(seconds, kRoundTrips * static_cast<double>(longest) / kSecond);
  network.length_ns = static_cast<DurationNs>(seconds * kSecond);
}

}  // namespace

PullNetwork make_network(std::uint64_t seed) {
  Random random(seed);
  PullNetwork network;
  network.name = "seed-" + std::to_string(seed);
  network.seed = seed;
  network.hosts_together = one_in(random, 10);
  const double most = network.hosts_together ? 8 : 64;
  network.readouts.resize(
      static_cast<std::size_t>(random.log_uniform(network.hosts_together ? 3 : 2, most + 0.99)));
  double rate = random.log_uniform(50e6, network.hosts_together ? 1e9 : 10e9);
  draw_sizes(random, network);
  draw_ways(random, network, rate);
  draw_dcms(random, network, rate);
  draw_uplinks(random, network, rate);
  draw_hosts(random, network);
  network.tcp.slow_start_after_idle = !one_in(random, 5);
  if (one_in(random, 15)) network.reordered = random.log_uniform(1e-5, 1e-3);
  draw_length(network);
  draw_events(random, network, rate);
  if (one_in(random, 4)) {
    const double load = random.uniform(0.2, 0.95);
    double bytes = 0;
    for (const DcmSpec& dcm : network.dcms) {
      for (std::uint32_t r = 0; r < dcm.readouts; ++r) bytes += network.readouts[dcm.first_readout + r].bytes;
    }
    const double each = best_bytes_per_s(network, 0) / bytes;
    for (DcmSpec& dcm : network.dcms) dcm.slices_per_s = load * each;
  }
  return network;
}

}  // namespace weir::packet_model
