#include <weir/packet_model/pull_network.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <limits>

namespace weir::packet_model {
namespace {

std::string format(const char* how, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char* how, ...) {
  char text[256];
  va_list values;
  va_start(values, how);
  std::vsnprintf(text, sizeof(text), how, values);
  va_end(values);
  return text;
}

std::string describe(const Cpu& cpu) {
  std::string text;
  if (cpu.late_share > 0)
    text += format(" busy(late %.0f %% by %.1f ms, runs %.0f ms)", 100 * cpu.late_share, cpu.late_ms,
                   cpu.slice_ms);
  if (cpu.pause_ms > 0) text += format(" pauses(%.0f of %.0f ms)", cpu.pause_ms, cpu.pause_every_ms);
  if (cpu.request_us > 5) text += format(" slow(%.0f us a request)", cpu.request_us);
  return text.empty() ? " idle" : text;
}

std::string describe(const LinkSpec& link) {
  std::string text;
  for (const RateFrom& rate : link.rates) {
    text += text.empty() ? "" : ", ";
    if (rate.from_ns > 0) text += format("from %.2f s ", static_cast<double>(rate.from_ns) / kSecond);
    text += format("%.0f Mb/s", rate.bits_per_s / 1e6);
  }
  text += link.buffer_bytes > 0 ? format(", buffer %.0f kB", link.buffer_bytes / 1e3) : ", no drops";
  if (link.burst_bytes > 0) text += format(", burst %.0f kB", link.burst_bytes / 1e3);
  if (link.loss > 0) text += format(", loss %.1e", link.loss);
  return text;
}

std::string describe(const ReadoutSpec& readout) {
  const char* spread = readout.spread == Spread::fixed     ? "fixed"
                       : readout.spread == Spread::uniform ? "uniform"
                                                           : "exponential";
  return format("%s, uplink %.0f Mb/s, round trip %.2f ms%s,", spread, readout.uplink_bits_per_s / 1e6,
                static_cast<double>(readout.round_trip_ns) / 1e6, readout.over_line ? " over the line" : "") +
         describe(readout.cpu);
}

// Readouts that differ only in size share one line.
std::string describe_readouts(const PullNetwork& network) {
  std::string text;
  for (std::size_t first = 0, next = 0; first < network.readouts.size(); first = next) {
    double least = network.readouts[first].bytes;
    double most = least;
    const std::string what = describe(network.readouts[first]);
    for (next = first; next < network.readouts.size() && describe(network.readouts[next]) == what; ++next) {
      least = std::min(least, network.readouts[next].bytes);
      most = std::max(most, network.readouts[next].bytes);
    }
    text += format("  %zu readouts: %.1f", next - first, least / 1e3);
    if (most > least) text += format(" to %.1f", most / 1e3);
    text += " kB " + what + "\n";
  }
  return text;
}

// Payload bytes that a slice of this DCM brings over a link.
using Load = std::vector<double>;  // indexed by link

struct Links {
  std::vector<double> rates;  // payload bytes per second
  std::vector<Load> loads;    // indexed by DCM
};

Links links_of(const PullNetwork& network, TimeNs at_ns) {
  Links links;
  const auto rate = [&](double bits) { links.rates.push_back(bits / 8 * kStreamBound); };
  for (const ReadoutSpec& readout : network.readouts) rate(readout.uplink_bits_per_s);
  for (std::uint32_t p = 0; p < network.ports.size(); ++p) {
    double bits = rate_at(network.ports[p], at_ns);
    for (const OtherTraffic& foreign : network.foreign) {
      const bool there = foreign.from_ns <= at_ns && (foreign.until_ns == 0 || at_ns < foreign.until_ns);
      if (foreign.port == p && there) bits -= foreign.udp_bits_per_s;
    }
    rate(std::max(bits, 1.0));
  }
  for (const LinkSpec& core : network.core) rate(rate_at(core, at_ns));
  for (const LinkSpec& line : network.line) rate(rate_at(line, at_ns));
  const std::size_t core = network.readouts.size() + network.ports.size();
  for (const DcmSpec& dcm : network.dcms) {
    Load load(links.rates.size());
    for (std::uint32_t r = dcm.first_readout; r < dcm.first_readout + dcm.readouts; ++r) {
      if (same_host(network, dcm, r)) continue;
      const ReadoutSpec& readout = network.readouts[r];
      load[r] += readout.bytes;
      load[network.readouts.size() + dcm.port] += readout.bytes;
      if (!network.core.empty()) load[core] += readout.bytes;
      if (!network.line.empty() && readout.over_line) load[core + network.core.size()] += readout.bytes;
    }
    links.loads.push_back(load);
  }
  return links;
}

double bytes_of_slice(const PullNetwork& network, const DcmSpec& dcm) {
  double bytes = 0;
  for (std::uint32_t r = 0; r < dcm.readouts; ++r) bytes += network.readouts[dcm.first_readout + r].bytes;
  return bytes;
}

}  // namespace

double rate_at(const LinkSpec& link, TimeNs at_ns) {
  double rate = link.rates.front().bits_per_s;
  for (const RateFrom& piece : link.rates) {
    if (piece.from_ns <= at_ns) rate = piece.bits_per_s;
  }
  return rate;
}

double best_bytes_per_s(const PullNetwork& network, TimeNs at_ns) {
  Links links = links_of(network, at_ns);
  std::vector<double> slices(network.dcms.size());  // per second
  std::vector<bool> done(network.dcms.size());
  for (std::size_t left = network.dcms.size(); left > 0;) {
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t l = 0; l < links.rates.size(); ++l) {
      double load = 0;
      for (std::size_t d = 0; d < slices.size(); ++d) load += done[d] ? 0 : links.loads[d][l];
      if (load > 0) step = std::min(step, links.rates[l] / load);
    }
    for (std::size_t d = 0; d < slices.size(); ++d) {
      const double offered = network.dcms[d].slices_per_s;
      if (!done[d] && offered > 0) step = std::min(step, offered - slices[d]);
    }
    for (std::size_t d = 0; d < slices.size(); ++d) {
      if (done[d]) continue;
      slices[d] += step;
      for (std::size_t l = 0; l < links.rates.size(); ++l) links.rates[l] -= step * links.loads[d][l];
    }
    for (std::size_t d = 0; d < slices.size(); ++d) {
      if (done[d]) continue;
      const double offered = network.dcms[d].slices_per_s;
      bool ends = offered > 0 && slices[d] >= offered * (1 - 1e-9);
      for (std::size_t l = 0; l < links.rates.size(); ++l)
        ends = ends || (links.loads[d][l] > 0 && links.rates[l] <= 1e-6 * slices[d] * links.loads[d][l]);
      if (ends) {
        done[d] = true;
        --left;
      }
    }
  }
  double sum = 0;
  for (std::size_t d = 0; d < slices.size(); ++d) sum += slices[d] * bytes_of_slice(network, network.dcms[d]);
  return sum;
}

double best_bytes_per_s(const PullNetwork& network, TimeNs from_ns, TimeNs to_ns) {
  std::vector<TimeNs> cuts{from_ns, to_ns};
  const auto add = [&](TimeNs at) {
    if (at > from_ns && at < to_ns) cuts.push_back(at);
  };
  for (const auto* links : {&network.ports, &network.core, &network.line}) {
    for (const LinkSpec& link : *links) {
      for (const RateFrom& rate : link.rates) add(rate.from_ns);
    }
  }
  for (const OtherTraffic& foreign : network.foreign) {
    add(foreign.from_ns);
    add(foreign.until_ns);
  }
  std::sort(cuts.begin(), cuts.end());
  double bytes = 0;
  for (std::size_t i = 1; i < cuts.size(); ++i)
    bytes += best_bytes_per_s(network, cuts[i - 1]) * static_cast<double>(cuts[i] - cuts[i - 1]);
  return bytes / static_cast<double>(std::max<TimeNs>(1, to_ns - from_ns));
}

std::string describe(const PullNetwork& network) {
  std::string text =
      format("%s (seed %llu), %.2f s", network.name.c_str(), static_cast<unsigned long long>(network.seed),
             static_cast<double>(network.length_ns) / kSecond);
  if (network.hosts_together) text += ", readouts and DCMs on the same hosts";
  if (network.strangers) text += ", DCMs of different farms";
  if (!network.tcp.slow_start_after_idle) text += ", no slow start after idle";
  if (!network.tcp.selective) text += ", TCP without SACK, RACK and probes";
  if (network.reordered > 0) text += format(", overtaken %.1e", network.reordered);
  text += "\n";
  text += describe_readouts(network);
  for (const DcmSpec& dcm : network.dcms) {
    text += format("  dcm at port %u: readouts %u..%u, %u credits,", dcm.port, dcm.first_readout,
                   dcm.first_readout + dcm.readouts - 1, dcm.credits);
    if (dcm.slices_per_s > 0) text += format(" %.1f slices/s,", dcm.slices_per_s);
    text += describe(dcm.cpu) + "\n";
  }
  for (const LinkSpec& port : network.ports) text += "  port: " + describe(port) + "\n";
  for (const LinkSpec& core : network.core) text += "  core: " + describe(core) + "\n";
  for (const LinkSpec& line : network.line) text += "  line: " + describe(line) + "\n";
  for (const OtherTraffic& foreign : network.foreign) {
    text += format("  foreign at port %u: ", foreign.port);
    text += foreign.udp_bits_per_s > 0 ? format("UDP %.0f Mb/s", foreign.udp_bits_per_s / 1e6) : "a TCP flow";
    text += format(", from %.2f s", static_cast<double>(foreign.from_ns) / kSecond);
    if (foreign.until_ns > 0) text += format(" to %.2f s", static_cast<double>(foreign.until_ns) / kSecond);
    text += "\n";
  }
  return text;
}

}  // namespace weir::packet_model
