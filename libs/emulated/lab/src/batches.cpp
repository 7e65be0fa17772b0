#include <weir/base/assert.hpp>
#include <weir/lab/batches.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

namespace weir::lab {
namespace {

constexpr int kLineQueueFrames =
    10000;  // queue between the kernel and the relay; the relay has the buffer with a limit

constexpr std::uint32_t kChecksumBytes = 4;  // of a frame, which Linux does not count
// Classes of htb at a port with rings.
constexpr std::size_t kPortClass = 1;
constexpr std::size_t kOtherClass = 2;
constexpr std::size_t kFirstRingClass = 16;

class Lines {
 public:
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  [[nodiscard]] std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

// One end of a relayed link; the relay holds it open.
void add_relayed(const std::string& device, std::uint32_t mtu, const std::string& more, Lines& lines) {
  lines.add("tuntap add dev {} mode tap", device);
  lines.add("link set dev {} mtu {} txqueuelen {} {} up", device, mtu, kLineQueueFrames, more);
}

// A cable between two software switches.
void add_cable(const std::string& a, const std::string& b, std::uint32_t mtu, Lines& lines) {
  lines.add("link add name {} mtu {} type veth peer name {} mtu {}", a, mtu, b, mtu);
  lines.add("link set dev {} up", a);
  lines.add("link set dev {} up", b);
}

std::string switch_links(const LabPlan& plan, const std::vector<std::string>& paths) {
  Lines lines;
  lines.add("link set lo up");
  if (plan.has_fabric()) return lines.take();
  for (const std::string& name : plan.switches) {
    if (plan.software) break;
    lines.add("link add name {} mtu {} type bridge mcast_snooping 0 stp_state 0", name, plan.mtu);
    lines.add("link set dev {} up", name);
  }
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    for (std::size_t plane = 0; plane < plan.planes; ++plane) {
      const LabLeg leg = plan.hosts[i].leg(plane);
      WEIR_ASSERT(leg.attached < plan.switches.size());
      const std::string master = plan.software ? std::string() : "master " + plan.switches[leg.attached];
      if (plan.hosts[i].delay_ns > 0) {
        add_relayed(leg.device, plan.mtu, master, lines);
        continue;
      }
      const bool card = plan.hosts[i].relayed_nic;
      const std::string end = card ? plan.hosts[i].card_exit() : leg.device;
      lines.add("link add name {} mtu {} type veth peer name {} mtu {} address {} netns {}", end, plan.mtu,
                leg.nic, plan.mtu, leg.mac, paths[kFirstHost + i]);
      lines.add("link set dev {} {} up", end, master);
      if (card) add_cable(leg.device, plan.hosts[i].card_link(), plan.mtu, lines);
    }
  }
  for (const Link& link : plan.links) {
    if (link.delay_ns > 0) {
      add_relayed(link.from_device, plan.mtu, "master " + plan.switches[link.from], lines);
      add_relayed(link.to_device, plan.mtu, "master " + plan.switches[link.to], lines);
      continue;
    }
    if (plan.software) {
      add_cable(link.from_device, link.to_device, plan.mtu, lines);
      continue;
    }
    lines.add("link add name {} mtu {} type veth peer name {} mtu {}", link.from_device, plan.mtu,
              link.to_device, plan.mtu);
    lines.add("link set dev {} master {} up", link.from_device, plan.switches[link.from]);
    lines.add("link set dev {} master {} up", link.to_device, plan.switches[link.to]);
  }
  if (plan.line) {
    add_relayed(plan.line->from.device, plan.mtu, "master " + plan.switches[0], lines);
    add_relayed(plan.line->to.device, plan.mtu, "master " + plan.switches[1], lines);
  }
  return lines.take();
}

// Static forwarding entries for every host at every switch: no learning and no flooding.
std::string forwarding(const LabPlan& plan) {
  if (plan.has_fabric() || plan.software) return {};
  Lines lines;
  const auto quiet = [&](const std::string& device) {
    lines.add("link set dev {} learning off flood off mcast_flood off bcast_flood off", device);
  };
  for (const LabHost& host : plan.hosts) {
    for (std::size_t plane = 0; plane < plan.planes; ++plane) quiet(host.leg(plane).device);
  }
  for (const Link& link : plan.links) {
    quiet(link.from_device);
    quiet(link.to_device);
  }
  if (plan.line) {
    quiet(plan.line->from.device);
    quiet(plan.line->to.device);
  }
  for (const Forward& forward : plan.forwards) {
    WEIR_ASSERT(forward.host < plan.hosts.size());
    lines.add("fdb replace {} dev {} master static", plan.hosts[forward.host].leg(forward.plane).mac,
              forward.device);
  }
  return lines.take();
}

constexpr double kRandomNumbers = 4294967296.0;
constexpr std::uint32_t kRandom = 0xFFFFF038;  // SKF_AD_OFF + SKF_AD_RANDOM
constexpr std::uint32_t kPass = 0xFFFFFFFF;    // TC_ACT_UNSPEC; 2: TC_ACT_SHOT

// Drops incoming frames with classic BPF, if a random number is below a bound. The queueing discipline counts
// the drops.
void add_loss(const LabHost& host, Lines& lines) {
  lines.add("filter add dev data ingress prio 1 bpf da bytecode \"4,32 0 0 {},53 1 0 {},6 0 0 2,6 0 0 {}\"",
            kRandom, static_cast<std::uint32_t>(std::max(1.0, host.loss * kRandomNumbers)), kPass);
}

// The same with a bound that grows with the frame's length: n bits are damaged with a probability of
// 1 - (1 - rate)^n, which n * rate exceeds by at most 4 % up to 9000 bytes at the highest rate. The bound is
// (length * factor + half) >> shift, with the largest factor for which no frame's product exceeds 32 bits.
void add_bit_errors(const LabHost& host, Lines& lines) {
  constexpr double kFactorMost = 34'360;  // of the highest rate, 1e-6: 8 * rate * 2^32
  constexpr int kBitsPerByte = 8;
  double factor = kBitsPerByte * host.bit_errors * kRandomNumbers;
  unsigned shift = 0;
  for (; 2 * factor <= kFactorMost; factor *= 2) ++shift;
  const std::uint32_t half = (1U << shift) >> 1U;
  lines.add(
      "filter add dev data ingress prio 2 bpf da bytecode \"10,128 0 0 0,4 0 0 {},36 0 0 {},4 0 0 {},116 0 0 "
      "{},7 0 0 0,32 0 0 {},61 1 0 0,6 0 0 2,6 0 0 {}\"",
      kChecksumBytes, std::lround(factor), half, shift, kRandom, kPass);
}

// Filters of the frames that a host receives, in the order of the way: the link, then the card.
std::string receiving(const LabHost& host) {
  Lines lines;
  const bool queues = host.slow_nic && !host.relayed_nic;
  if (!host.loses_frames() && !queues) return {};
  lines.add("qdisc add dev data clsact");
  if (host.loss > 0) add_loss(host, lines);
  if (host.bit_errors > 0) add_bit_errors(host, lines);
  if (queues) {
    lines.add("filter add dev data ingress prio 3 u32 match u32 0 0 action mirred egress redirect dev {}",
              kNicDevice);
  }
  return lines.take();
}

// A queue for each ring and one for other traffic, below the port's rate: classes of htb in turn, a frame at
// a time, with a limit in frames (the daqrings of Jereczek 2017, section 5.4.1.3).
void add_rings(const LabPlan& plan, const Port& port, Lines& lines) {
  const std::uint64_t part = std::max<std::uint64_t>(1, port.rate_bits_per_s / (port.rings.size() + 1));
  const std::uint64_t ring_rate =
      plan.ring_bits_per_s == 0 ? port.rate_bits_per_s : std::min(plan.ring_bits_per_s, port.rate_bits_per_s);
  const auto add_class = [&](const char* parent, std::size_t id, std::uint64_t rate, std::uint64_t ceil) {
    lines.add(
        "class add dev {} parent {} classid 1:{:x} htb rate {}bit ceil {}bit burst {} cburst {} quantum {} "
        "overhead {} mpu {}",
        port.device, parent, id, rate, ceil, plan.burst_bytes, plan.burst_bytes,
        plan.mtu + kEthernetHeaderBytes, kOverheadBytes, kShortestBytes);
  };
  lines.add("qdisc add dev {} root handle 1: htb default {:x}", port.device, kOtherClass);
  add_class("1:", kPortClass, port.rate_bits_per_s, port.rate_bits_per_s);
  add_class("1:1", kOtherClass, part, port.rate_bits_per_s);
  lines.add("qdisc add dev {} parent 1:{:x} bfifo limit {}", port.device, kOtherClass, port.buffer_bytes);
  for (std::size_t i = 0; i < port.rings.size(); ++i) {
    const std::size_t id = kFirstRingClass + i;
    add_class("1:1", id, std::min(part, ring_rate), ring_rate);
    lines.add("qdisc add dev {} parent 1:{:x} pfifo limit {}", port.device, id, plan.ring_packets);
    lines.add("filter add dev {} parent 1: protocol ip prio 1 u32 match ip dst {}/32 flowid 1:{:x}",
              port.device, port.rings[i], id);
  }
}

// The socket of a software switch limits the frames that wait at its port, so the kernel's queue must not.
std::uint64_t queue_bytes(const LabPlan& plan, const Port& port) {
  constexpr std::uint64_t kSpare = std::uint64_t{1} << 18U;
  return plan.software && port.space == kSwitches ? 2 * port.buffer_bytes + kSpare : port.buffer_bytes;
}

std::string port_limits(const LabPlan& plan, Space space) {
  if (plan.has_fabric()) return {};
  Lines lines;
  for (const Port& port : plan.ports) {
    if (port.space != space) continue;
    if (!port.rings.empty()) {
      add_rings(plan, port, lines);
      continue;
    }
    lines.add("qdisc add dev {} root handle 1: tbf rate {}bit burst {} limit {} overhead {} mpu {}",
              port.device, port.rate_bits_per_s, plan.burst_bytes, queue_bytes(plan, port), kOverheadBytes,
              kShortestBytes);
  }
  return lines.take();
}

std::string steering(const LabPlan& plan) {
  if (plan.has_fabric() || plan.software) return {};
  Lines lines;
  std::string device;
  for (const Steer& steer : plan.steers) {
    const std::string from = plan.hosts[steer.from].leg(steer.plane).device;
    if (std::exchange(device, from) != from) lines.add("qdisc add dev {} clsact", from);
    lines.add(
        "filter add dev {} ingress protocol ip u32 match ip dst {}/32 action mirred egress redirect dev {}",
        from, plan.hosts[steer.to].leg(steer.plane).address, steer.device);
  }
  return lines.take();
}

std::string control_links(const LabPlan& plan, const std::vector<std::string>& paths) {
  Lines lines;
  lines.add("link set lo up");
  lines.add("link add control type bridge mcast_snooping 0 stp_state 0");
  lines.add("addr add {}/{} dev control", control_address(), kPrefixBits);
  lines.add("link set control up");
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    lines.add("link add name {} type veth peer name control netns {}", plan.hosts[i].name,
              paths[kFirstHost + i]);
    lines.add("link set dev {} master control up", plan.hosts[i].name);
  }
  return lines.take();
}

// The interface of a host in one plane, and its neighbours there.
void add_leg(const LabPlan& plan, std::size_t i, std::size_t plane, Lines& lines) {
  const LabHost& host = plan.hosts[i];
  const LabLeg leg = host.leg(plane);
  // A port counts one of TCP's packets as one frame, so TCP must not build larger packets.
  if (host.own_port && !plan.has_fabric() && host.offloads != Offloads::all)
    lines.add("link set {} gso_max_segs 1", leg.nic);
  lines.add("addr add {}/{} dev {}", leg.address, kPrefixBits, leg.nic);
  for (const std::string& address : leg.dcm_addresses)
    lines.add("addr add {}/{} dev {}", address, kPrefixBits, leg.nic);
  lines.add("link set {} up", leg.nic);
  if (plan.locks_windows()) {
    lines.add("route replace {} dev {} scope link src {} cwnd lock {} initcwnd {}", data_network(plane),
              leg.nic, leg.address, plan.window_segments, plan.window_segments);
  }
  for (std::size_t other = 0; other < plan.hosts.size(); ++other) {
    if (other == i) continue;
    const LabLeg there = plan.hosts[other].leg(plane);
    lines.add("neigh add {} lladdr {} dev {} nud permanent", there.address, there.mac, leg.nic);
    for (const std::string& address : there.dcm_addresses)
      lines.add("neigh add {} lladdr {} dev {} nud permanent", address, there.mac, leg.nic);
  }
}

std::string host_side(const LabPlan& plan, std::size_t i) {
  const LabHost& host = plan.hosts[i];
  Lines lines;
  lines.add("link set lo up");
  lines.add("addr add {}/{} dev control", host.control_address, kPrefixBits);
  lines.add("link set control up");
  const bool relayed = plan.has_fabric() || host.delay_ns > 0;
  if (relayed) add_relayed("data", plan.mtu, "address " + host.mac, lines);
  if (host.slow_nic && !host.relayed_nic) {
    lines.add("link add name {} mtu {} type ifb", kNicDevice, plan.mtu);
    lines.add("link set dev {} up", kNicDevice);
  }
  for (std::size_t plane = 0; plane < plan.planes; ++plane) add_leg(plan, i, plane, lines);
  return lines.take();
}

}  // namespace

std::string change_line(const LabPlan& plan, const PortChange& change) {
  Lines lines;
  lines.add("qdisc change dev {} root handle 1: tbf rate {}bit burst {} limit {} overhead {} mpu {}",
            plan.ports[change.port].device, change.rate_bits_per_s, plan.burst_bytes,
            plan.software ? queue_bytes(plan, plan.ports[change.port]) : change.buffer_bytes, kOverheadBytes,
            kShortestBytes);
  return lines.take();
}

std::string far_control_lines(const LabPlan& plan, bool down) {
  constexpr int kDisabled = 0;
  constexpr int kForwarding = 3;
  Lines lines;
  for (const LabHost& host : plan.hosts) {
    if (host.attached == 1) lines.add("link set dev {} state {}", host.name, down ? kDisabled : kForwarding);
  }
  return lines.take();
}

std::string cut_lines(const PlaneCut& cut, bool down) {
  Lines lines;
  for (const std::string& device : cut.devices) lines.add("link set dev {} {}", device, down ? "down" : "up");
  return lines.take();
}

std::vector<Batch> set_up_batches(const LabPlan& plan, const std::vector<std::string>& paths) {
  std::vector<Batch> batches;
  const auto add = [&](Space space, Tool tool, std::string lines) {
    if (!lines.empty()) batches.push_back({space, tool, std::move(lines)});
  };
  add(kSwitches, Tool::ip, switch_links(plan, paths));
  add(kSwitches, Tool::bridge, forwarding(plan));
  add(kSwitches, Tool::tc, port_limits(plan, kSwitches) + steering(plan));
  add(kControl, Tool::ip, control_links(plan, paths));
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    add(kFirstHost + i, Tool::ip, host_side(plan, i));
    add(kFirstHost + i, Tool::tc, port_limits(plan, kFirstHost + i) + receiving(plan.hosts[i]));
  }
  return batches;
}

}  // namespace weir::lab
