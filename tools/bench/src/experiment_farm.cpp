// The farm and the lab of an experiment's run. Pure.
#include "units.hpp"
#include <weir/bench/experiment.hpp>
#include <weir/bench/failover.hpp>
#include <weir/shaping/theory.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

namespace weir::bench {
namespace {

constexpr double kEndS = 0.5;          // of the run after the measurement: the last reports
constexpr double kWatchedEndS = 3;     // the same where reports are taken during the run
constexpr double kHitsPerSlice = 706;  // of a module outside of bursts
constexpr double kBurstSlicesMax = 300;
// The thesis' rate of a ring leaves out preamble and gap (section 6.3.2.1).
constexpr double kWirePerFrame = 1538.0 / 1518;
constexpr std::uint32_t kCutOffBytes =
    60'000;                                   // between an LCM's three fragments outside of bursts and inside
constexpr std::uint32_t kTracedSlices = 200;  // of each DCM
constexpr double kIdleHz = 10;
constexpr std::uint32_t kIdleBytes = 64;
constexpr std::uint32_t kPushedSlices = 512;    // that a push farm holds
constexpr std::uint32_t kDeadlineMs = 20'000;   // above several timeouts of TCP
constexpr std::uint32_t kThesisSegments = 100;  // more than any readout's response
constexpr const char* kOldTcp = "ipv4.tcp_sack: 0, ipv4.tcp_recovery: 0, ipv4.tcp_early_retrans: 0";

std::uint32_t whole(double value) { return static_cast<std::uint32_t>(std::max(1.0, std::round(value))); }

std::uint32_t dcms_of(const ExperimentSetting& setting) {
  return setting.layout == NetworkLayout::all_to_all ? whole(setting.readouts) * setting.dcms : setting.dcms;
}

std::string rate_text(double mbit) { return fmt::format("{:.0f}bit", mbit * kBitPerMbit); }
std::string buffer_text(double kb) { return fmt::format("{}", whole(kb * kBytesPerKb)); }

std::string shaper_text(const Cure& cure, const ExperimentSetting& setting) {
  std::string text = "shaper: " + cure.shaper;
  if (cure.pace > 0) {
    const shaping::EthernetLink port{setting.port_mbit * kBitPerMbit};
    text += fmt::format(", pace_bytes_per_s: {}", whole(cure.pace * shaping::stream_goodput(port, 1, 0)));
  }
  if (cure.quota > 0) text += fmt::format(", window_fragments: {}, window_strict: true", whole(cure.quota));
  if (cure.window_kb > 0)
    text += fmt::format(", window_bytes: {}", std::max(1024U, whole(cure.window_kb * kBytesPerKb)));
  return text;
}

void apply(Vary vary, double x, ExperimentSetting& setting, Cure& cure) {
  switch (vary) {
    case Vary::nothing:
      return;
    case Vary::quota:
      cure.quota = x;
      return;
    case Vary::readouts:
      setting.readouts = x;
      return;
    case Vary::core_buffer:
      setting.core_kb = x;
      return;
    case Vary::load:
      setting.load = x;
      return;
    case Vary::segments:
      cure.segments = whole(x);
      return;
    case Vary::ring:
      cure.ring_packets = x;
      return;
    case Vary::ring_rate:
      cure.ring_mbit = kMbitPerGbit * x * setting.stands_for * kWirePerFrame;
      return;
    case Vary::fragment:
      setting.fragment_bytes = whole(x);
      return;
    case Vary::dcms:
      setting.dcms = whole(x);
      return;
  }
}

void scale_by(double scale, const Scaling& scaling, ExperimentSetting& setting, Cure& cure) {
  const auto by = [&](bool scaled, auto... values) {
    if (scaled) ((*values *= scale), ...);
  };
  by(scaling.rates, &setting.port_mbit, &setting.host_mbit, &setting.uplink_mbit, &setting.nic_mbit,
     &setting.slow_mbit, &cure.ring_mbit, &cure.nic_mbit);
  if (scaling.rates) setting.delay_ms /= scale;
  by(scaling.buffers, &setting.port_kb, &setting.core_kb, &cure.quota, &cure.window_kb);
  if (scaling.rings > 0) {
    cure.ring_packets *= scaling.rings;
  } else {
    by(scaling.buffers, &cure.ring_packets);
  }
  by(scaling.readouts, &setting.readouts);
  by(scaling.triggers, &setting.rate_hz);
  setting.readouts = whole(setting.readouts);
}

std::string delay_text(const ExperimentSetting& setting) {
  return setting.delay_ms > 0 ? fmt::format(", delay_ms: {:g}", setting.delay_ms) : std::string();
}

// Racks with readouts, from 1; the DCMs are at the last one, or at the core of a cascade, which fills its
// racks one by one.
std::string racked_hosts(const ExperimentSetting& setting, std::uint32_t racks, bool one_card) {
  const bool one_by_one = setting.layout == NetworkLayout::cascade;
  const std::uint32_t readouts = whole(setting.readouts);
  std::string text = "hosts:\n";
  for (std::uint32_t i = 0; i < readouts; ++i) {
    const std::uint32_t rack = one_by_one ? i / setting.readouts_per_rack : i * racks / readouts;
    fmt::format_to(std::back_inserter(text),
                   "  - {{name: r{}, nodes: [readout-{}], attached: {}, port_rate: {}, host_rate: {}{}}}\n",
                   i, i, 1 + rack, rate_text(setting.host_mbit), rate_text(setting.host_mbit),
                   delay_text(setting));
  }
  for (std::uint32_t i = 0; i < setting.dcms; ++i) {
    fmt::format_to(std::back_inserter(text), "  - {{name: d{}, nodes: [dcm-{}], attached: {}{}}}\n", i, i,
                   racks + 1, one_card ? ", card: 1" : "");
  }
  return text;
}

// Leaves from 1, each with its part of the readouts and of the DCMs.
std::string leaf_spine_text(const ExperimentSetting& setting) {
  const std::uint32_t readouts = whole(setting.readouts);
  const std::uint32_t leaves = (readouts + setting.readouts_per_rack - 1) / setting.readouts_per_rack;
  std::string text = fmt::format(
      "topology: leaf-spine\nleaf_spine: {{leaves: {}, spines: {}, link_rate: {}, link_buffer: "
      "{}}}\nhosts:\n",
      leaves, setting.spines, rate_text(setting.uplink_mbit), buffer_text(setting.core_kb));
  for (std::uint32_t i = 0; i < readouts; ++i) {
    fmt::format_to(std::back_inserter(text),
                   "  - {{name: r{}, nodes: [readout-{}], attached: {}, host_rate: {}}}\n", i, i,
                   1 + i / setting.readouts_per_rack, rate_text(setting.host_mbit));
  }
  for (std::uint32_t i = 0; i < setting.dcms; ++i) {
    const std::string card =
        setting.nic_mbit > 0 ? ", nic_rate: " + rate_text(setting.nic_mbit) : std::string();
    fmt::format_to(std::back_inserter(text), "  - {{name: d{}, nodes: [dcm-{}], attached: {}{}}}\n", i, i,
                   1 + i * leaves / setting.dcms, card);
  }
  return text;
}

// Returns a host's entry for each DCM, or for several that share it.
std::string dcm_hosts(const ExperimentSetting& setting, std::uint32_t hosts, const std::string& more) {
  std::string text;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    std::string nodes;
    for (std::uint32_t i = 0; i < setting.dcms; ++i) {
      if (i * hosts / setting.dcms == host) nodes += fmt::format("{}dcm-{}", nodes.empty() ? "" : ", ", i);
    }
    const bool slow = setting.slow_mbit > 0 && host + 1 == hosts;
    text += fmt::format("  - {{name: d{}, nodes: [{}]{}{}}}\n", host, nodes, more,
                        slow ? ", port_rate: " + rate_text(setting.slow_mbit) : "");
  }
  return text;
}

std::string cuts_text(const ExperimentSetting& setting, std::uint32_t leaves) {
  std::string text;
  for (std::uint32_t cut = 0; cut < setting.cuts; ++cut) {
    const double at_s = setting.cut_at_s + cut * setting.cut_every_s;
    for (std::uint32_t leaf = setting.cut_whole_spine ? 1 : leaves; leaf <= leaves; ++leaf) {
      const std::string link =
          setting.cut_spine > 0 ? fmt::format(", link: leaf{}>spine{}", leaf, setting.cut_spine) : "";
      text += fmt::format("  - {{plane: 1{}, at_s: {:g}, for_s: {:g}}}\n", link, at_s, setting.cut_for_s);
    }
  }
  return text;
}

// Readouts at all leaves, and the DCMs on two hosts at the last one. Such a host uses one spine in each
// plane.
std::string planes_text(const ExperimentSetting& setting) {
  const std::uint32_t readouts = whole(setting.readouts);
  const std::uint32_t leaves = (readouts + setting.readouts_per_rack - 1) / setting.readouts_per_rack;
  std::string text = fmt::format(
      "topology: leaf-spine\nplanes: {}\naddresses: per-dcm\nleaf_spine: {{leaves: {}, spines: {}, "
      "link_rate: "
      "{}, link_buffer: {}}}\nhosts:\n",
      kPlanes, leaves, setting.spines, rate_text(setting.uplink_mbit), buffer_text(setting.core_kb));
  for (std::uint32_t i = 0; i < readouts; ++i) {
    fmt::format_to(std::back_inserter(text),
                   "  - {{name: r{}, nodes: [readout-{}], attached: {}, host_rate: {}}}\n", i, i,
                   1 + i / setting.readouts_per_rack, rate_text(setting.host_mbit));
  }
  text += dcm_hosts(setting, kDcmHosts, fmt::format(", attached: {}", leaves));
  return text + "cuts:\n" + cuts_text(setting, leaves);
}

// Hosts that differ: links of readouts have a delay, the last DCM may have a slow port, or DCMs share hosts.
std::string unlike_hosts(const ExperimentSetting& setting, const Cure& cure) {
  if (setting.delay_ms == 0 && setting.slow_mbit == 0 && setting.hosts == 0) return {};
  std::string text = "hosts:\n";
  for (std::uint32_t i = 0; i < whole(setting.readouts); ++i) {
    fmt::format_to(std::back_inserter(text), "  - {{name: r{}, nodes: [readout-{}]{}}}\n", i, i,
                   delay_text(setting));
  }
  const std::string card = cure.nic_mbit > 0 ? ", nic_rate: " + rate_text(cure.nic_mbit) : std::string();
  return text + dcm_hosts(setting, setting.hosts > 0 ? setting.hosts : setting.dcms, card);
}

std::string topology_text(const ExperimentSetting& setting, const Cure& cure) {
  const std::uint32_t readouts = whole(setting.readouts);
  if (setting.layout == NetworkLayout::all_to_all) {
    return fmt::format("topology: star\nplacement: together\nhost_count: {}\nhost_rate: {}\n", readouts,
                       rate_text(setting.host_mbit));
  }
  if (setting.layout == NetworkLayout::one_switch)
    return fmt::format("topology: star\nplacement: separate\nhost_rate: {}\n", rate_text(setting.host_mbit)) +
           unlike_hosts(setting, cure);
  if (setting.layout == NetworkLayout::leaf_spine) return leaf_spine_text(setting);
  if (setting.layout == NetworkLayout::planes) return planes_text(setting);
  const bool racked = setting.layout != NetworkLayout::behind_uplink;
  const std::uint32_t racks =
      racked ? (readouts + setting.readouts_per_rack - 1) / setting.readouts_per_rack : 1;
  return fmt::format(
             "topology: racks\nracks: {{count: {}, uplink_rate: {}, uplink_buffer: {}}}\nhost_rate: {}\n",
             setting.layout == NetworkLayout::cascade ? racks : racks + 1, rate_text(setting.uplink_mbit),
             buffer_text(setting.core_kb), rate_text(setting.port_mbit)) +
         racked_hosts(setting, racks, setting.one_card && cure.back_pressure == "credits");
}

}  // namespace

const char* name_of(Tcp tcp) {
  if (tcp == Tcp::thesis) return "thesis";
  return tcp == Tcp::old_tcp ? "old" : "new";
}

const char* name_of(Vary vary) {
  switch (vary) {
    case Vary::nothing:
      return "";
    case Vary::quota:
      return "quota of a DCM, fragments";
    case Vary::readouts:
      return "readouts";
    case Vary::core_buffer:
      return "buffer of the core's ports, kB";
    case Vary::load:
      return "offered, share of theory";
    case Vary::segments:
      return "congestion window, segments";
    case Vary::ring:
      return "ring of a DCM, packets";
    case Vary::ring_rate:
      return "rate of a DCM's ring, Gb/s";
    case Vary::fragment:
      return "fragment, bytes";
    case Vary::dcms:
      return "DCMs";
  }
  return "";
}

std::vector<ExperimentPoint> expand(const Experiment& experiment, const std::vector<Tcp>& tcps,
                                    double scale) {
  std::vector<ExperimentPoint> points;
  for (const Tcp tcp : tcps) {
    for (const Cure& cure : experiment.cures) {
      for (const double x : experiment.x) {
        ExperimentPoint point{cure, tcp, x, experiment.setting, experiment.show, experiment.cores_limit};
        if (cure.units > 0) point.setting.units = cure.units;
        if (cure.spines > 0) point.setting.spines = cure.spines;
        if (cure.port_kb > 0) point.setting.port_kb = cure.port_kb;
        if (!cure.flows) point.setting.flows.clear();
        apply(experiment.vary, x, point.setting, point.cure);
        scale_by(scale, experiment.scaling, point.setting, point.cure);
        if (tcp == Tcp::thesis && !cure.cubic) {
          point.cure.kept = true;
          if (point.cure.segments == 0) point.cure.segments = kThesisSegments;
        }
        points.push_back(std::move(point));
      }
    }
  }
  return points;
}

std::string label_of(const ExperimentPoint& point) {
  return fmt::format("{}, {} TCP", point.cure.label, name_of(point.tcp));
}

// LCMs of three optical modules; an LCM's fragment has 25,000 bytes outside of bursts (6 bytes a hit, and as
// many for waveforms) and six times as many inside. A burst takes at most 300 slices.
std::string lcms_text(const ExperimentSetting& setting, double rate_hz) {
  return fmt::format(
      "source: {{kind: hits}}\n"
      "hits: {{strings: 1, floors_per_string: {}, modules_per_floor: 3, background_hz: {:.6g}, "
      "waveform_fraction: 0.015, burst_fraction: 0.05, burst_s_max: {:.6g}, burst_factor: 6}}\n",
      whole(setting.readouts), kHitsPerSlice * rate_hz, kBurstSlicesMax / rate_hz);
}

std::string source_text(const ExperimentPoint& point, const ExperimentSetting& setting, double rate_hz) {
  if (point.cure.bursts) return lcms_text(setting, rate_hz);
  return fmt::format("source: {{kind: dummy, distribution: fixed, size_bytes: {}, size_bytes_max: {}}}\n",
                     setting.fragment_bytes, setting.fragment_bytes);
}

// The planes' networks are the lab's.
std::string network_text(const ExperimentSetting& setting) {
  if (setting.layout != NetworkLayout::planes) return "network: {congestion_control: cubic}\n";
  return fmt::format(
      "network:\n"
      "  congestion_control: cubic\n"
      "  planes: [{{name: a, network: 127.1.0.0/16}}, {{name: b, network: 127.2.0.0/16}}]\n"
      "  plane_hold_ms: {:.0f}\n"
      "control: {{listen: '127.0.0.1:0'}}\n",
      setting.hold_s * kMsPerS);
}

std::string farm_text(const ExperimentPoint& point, const ExperimentTimes& times, double rate_hz) {
  ExperimentSetting setting = point.setting;
  if (!setting.flows.empty()) {  // the farm idles beside them
    rate_hz = kIdleHz;
    setting.fragment_bytes = kIdleBytes;
  }
  const std::uint32_t readouts = whole(setting.readouts);
  const std::uint32_t dcms = dcms_of(setting);
  // Credits limit the slices that are built. Settled slices leave later, in batches, and hold up no credit.
  const std::uint32_t building = dcms * setting.units;
  const std::uint32_t in_flight = setting.push ? kPushedSlices : 4 * building + 16;
  const std::uint64_t readout_bytes = std::uint64_t{setting.sources} * setting.fragment_bytes;
  const std::uint64_t dcm_bytes =
      std::max(kBufferBytesMin, 4 * setting.units * std::bit_ceil(readouts * readout_bytes));
  std::string trigger = "{mode: max, first_slice: 1}";
  if (rate_hz > 0) trigger = fmt::format("{{mode: rate, rate_hz: {:.6g}, first_slice: 1}}", rate_hz);
  std::string push;
  if (setting.push) {
    trigger = fmt::format("{{mode: clock, slice_ms: {:.6g}, first_slice: 1}}", kMsPerS / rate_hz);
    push = fmt::format(", buffer_slices: {}, shaper: {}, barrel_group: {}", 2 * kPushedSlices,
                       point.cure.group > 0 ? "barrel" : "direct", std::max(1U, point.cure.group));
    if (point.cure.cut_off)
      push += fmt::format(", cut_off_bytes: {}, cut_off_slices: 4, cut_off_sources: 3", kCutOffBytes);
  }
  return fmt::format(
      "farm: {}\n"
      "run: {{mode: {}, duration_s: {}, restart: never}}\n"
      "{}"
      "trigger: {}\n"
      "supervisor: {{in_flight_max: {}, pending_max: {}, status_interval_ms: 100, lease_ms: {}}}\n"
      "{}"
      "readout: {{count: {}{}{}, buffer_bytes: {}{}}}\n"
      "dcm: {{count: {}, credits: {}, slices_max: {}, buffer_bytes: {}, deadline_ms: {}, {}{}}}\n"
      "filter: {{plugin: prescale, parameters: {{n: 4294967295}}}}\n"  // all are rejected
      "writer: {{count: 0}}\n",
      point.farm, setting.push ? "push" : "pull",
      times.settle_s + times.measure_s + (point.show == Show::failover ? kWatchedEndS : kEndS),
      network_text(setting), trigger, in_flight, std::max(4U, building), 3 * kDeadlineMs,
      source_text(point, setting, rate_hz), readouts,
      setting.layout == NetworkLayout::planes ? ", host: 127.1.0.1" : "",
      point.cure.bursts ? "" : fmt::format(", sources_per_readout: {}", setting.sources),
      std::max(kBufferBytesMin, 8 * in_flight * readout_bytes), push, dcms, setting.units, 4 * setting.units,
      dcm_bytes, kDeadlineMs, shaper_text(point.cure, setting),
      (setting.push ? fmt::format(", push_wait_ms: {}, push_active_slices: {}", kDeadlineMs, kPushedSlices)
                    : "") +
          (setting.push ? fmt::format(", trace_slices: {}", kTracedSlices) : ""));
}

std::string lab_text(const ExperimentPoint& point) {
  const ExperimentSetting& setting = point.setting;
  const Cure& cure = point.cure;
  std::string text = fmt::format("lab: experiment\nport_rate: {}\nport_buffer: {}\nburst: 4k\n",
                                 rate_text(setting.port_mbit), buffer_text(setting.port_kb));
  text += topology_text(setting, cure);
  if (!cure.back_pressure.empty()) text += fmt::format("back_pressure: {}\n", cure.back_pressure);
  if (cure.bit_errors > 0) text += fmt::format("bit_errors: {:g}\n", cure.bit_errors);
  if (cure.segments > 0) text += fmt::format("window_segments: {}\n", cure.segments);
  if (cure.segments > 0 && cure.kept) text += "static_window: true\n";
  if (cure.nic_mbit > 0) text += fmt::format("nic_buffer: {}\n", buffer_text(cure.nic_kb));
  if (cure.nic_pauses) text += "nic_pauses: true\n";
  if (!cure.software.empty())
    text += fmt::format("switches: software\naddresses: per-dcm\nport_queue: {}\n", cure.software);
  if (cure.ring_packets > 0) {
    if (cure.software.empty()) text += "port_queue: per-dcm\n";
    if (cure.own_rings) text += "addresses: per-dcm\n";
    text += fmt::format("ring_packets: {}\n", whole(cure.ring_packets));
    if (cure.ring_mbit > 0) text += fmt::format("ring_rate: {}\n", rate_text(cure.ring_mbit));
  }
  if (!setting.flows.empty()) text += "foreign:\n";
  for (const auto& [from, to] : setting.flows) text += fmt::format("  - {{from: r{}, to: d{}}}\n", from, to);
  std::string sysctls = point.tcp == Tcp::new_tcp ? "" : kOldTcp;
  if (setting.rto_ms > 0) {
    fmt::format_to(std::back_inserter(sysctls), "{}ipv4.tcp_rto_min_us: {:.0f}", sysctls.empty() ? "" : ", ",
                   setting.rto_ms * kUsPerMs);
  }
  if (!sysctls.empty()) text += fmt::format("sysctls: {{{}}}\n", sysctls);
  if (setting.spinners > 0) text += fmt::format("cpu_load: {}\n", setting.spinners);
  return text;
}

}  // namespace weir::bench
