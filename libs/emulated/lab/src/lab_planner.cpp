#include "lab_work.hpp"
#include "topology.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/time.hpp>
#include <weir/config/rate.hpp>
#include <weir/lab/plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace weir::lab {
namespace {

constexpr std::uint32_t kStaticWindowMax = 9999;  // of weir-static-window

using config::ProblemKind;
using config::Problems;

constexpr std::size_t kHostNameMax = 12;  // a device's name has 15 at most
constexpr std::size_t kHostsPerThird = 250;
constexpr std::size_t kHostsMax = 1000;
constexpr std::size_t kFirstDcmAddress = 127 * kHostsPerThird;  // 10.77.128.1
constexpr std::size_t kDcmAddressesMax = 126 * kHostsPerThird;
constexpr double kCpuShareMin = 0.01;  // a cgroup's smallest quota: 1 ms of 100
constexpr double kMsPerS = 1000;
constexpr double kBitErrorsMin = 1e-11;  // one of eight million full frames

std::string nth_address(int second, std::size_t i) {
  return fmt::format("10.{}.{}.{}", second, 1 + i / kHostsPerThird, 1 + i % kHostsPerThird);
}

FlowControl back_pressure_of(v1::Lab::BackPressure word) {
  switch (word) {
    case v1::Lab::BACK_PRESSURE_PAUSE:
      return FlowControl::pause;
    case v1::Lab::BACK_PRESSURE_CREDITS:
      return FlowControl::credits;
    case v1::Lab::BACK_PRESSURE_NONE:
      break;
  }
  return FlowControl::none;
}

switching::Queueing queueing_of(v1::Lab::PortQueue word) {
  switch (word) {
    case v1::Lab::PORT_QUEUE_PER_DCM:
      return switching::Queueing::rings;
    case v1::Lab::PORT_QUEUE_PER_INPUT:
      return switching::Queueing::virtual_output;
    case v1::Lab::PORT_QUEUE_ONE:
      return switching::Queueing::fifo;
    case v1::Lab::PORT_QUEUE_SHARED:
      break;
  }
  return switching::Queueing::output;
}

Offloads offloads_of(v1::Offloads word) {
  switch (word) {
    case v1::OFFLOADS_NONE:
      return Offloads::none;
    case v1::OFFLOADS_ALL:
      return Offloads::all;
    case v1::OFFLOADS_AS_LAB:
    case v1::OFFLOADS_CHECKSUM:
      break;
  }
  return Offloads::checksum;
}

class Planner {
 public:
  Planner(const config::LabFile& file, const config::FarmPlan* farm)
      : work_{file.lab, file.locations}, lab_(file.lab), farm_(farm), plan_(work_.plan) {}

  Expected<LabPlan, Problems> plan() {
    settings();
    if (name_hosts() && attach()) {
      place();
      if (work_.is_sound()) add_topology(lab_, listed_, plan_);
      check_names();
      add_foreign_traffic(work_);
      if (work_.is_sound()) add_changes(work_);
      add_outages(work_);
      check_planes(work_);
      if (work_.is_sound()) add_cuts(work_);
      if (work_.is_sound()) check_back_pressure(work_);
      if (work_.is_sound()) check_software_switches(work_);
    }
    if (!work_.is_sound()) return Unexpected<Problems>(std::move(work_.problems));
    return std::move(work_.plan);
  }

 private:
  void report(const std::string& key, std::string what, ProblemKind kind = ProblemKind::inconsistent) {
    work_.report(key, std::move(what), kind);
  }

  void settings() {
    plan_.name = lab_.lab();
    plan_.back_pressure = back_pressure_of(lab_.back_pressure());
    if (lab_.switches() == v1::Lab::SWITCHES_SOFTWARE) plan_.software = queueing_of(lab_.port_queue());
    plan_.planes = lab_.planes();
    plan_.mark_packets = lab_.mark_packets();
    plan_.nic_pauses = lab_.nic_pauses();
    plan_.mtu = lab_.mtu();
    plan_.burst_bytes = config::parse_buffer(lab_.burst()).value_or(0);
    if (plan_.burst_bytes < lab_.mtu() + kOverheadBytes) report("burst", "is shorter than a frame");
    plan_.window_segments = lab_.window_segments();
    plan_.static_window = lab_.static_window();
    if (plan_.static_window && (plan_.window_segments == 0 || plan_.window_segments > kStaticWindowMax))
      report("static_window", fmt::format("needs a window_segments from 1 to {}", kStaticWindowMax));
    plan_.cpu_load = lab_.cpu_load();
    check_bit_errors(lab_.bit_errors(), "bit_errors");
    // The kernel applies a route's static window to a connection only through saved metrics of earlier ones.
    plan_.sysctls = {{"ipv4/tcp_no_metrics_save", plan_.locks_windows() ? "0" : "1"},
                     {"ipv4/tcp_slow_start_after_idle", lab_.slow_start_after_idle() ? "1" : "0"}};
    for (const auto& [name, value] : lab_.sysctls()) {
      std::string path = name;
      std::replace(path.begin(), path.end(), '.', '/');
      const bool plain = !path.empty() && std::all_of(path.begin(), path.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '/' || c == '-';
      });
      if (!plain) report("sysctls." + name, "is not the name of a setting, as in ipv4.tcp_timestamps");
      plan_.sysctls.emplace_back(path, value);
    }
    std::sort(plan_.sysctls.begin() + 2, plan_.sysctls.end());  // protobuf maps are unordered
  }

  // Returns how many hosts are needed for nodes that are not placed on a named host.
  [[nodiscard]] std::size_t hosts_for_farm() const {
    const std::size_t readouts = unplaced(Role::readout).size();
    const std::size_t dcms = unplaced(Role::dcm).size();
    return lab_.placement() == v1::Lab::PLACEMENT_TOGETHER ? std::max(readouts, dcms) : readouts + dcms;
  }

  bool name_hosts() {
    const auto listed = static_cast<std::size_t>(lab_.hosts_size());
    std::size_t count = lab_.host_count();
    if (count == 0) count = listed;
    if (count == 0 && farm_ != nullptr) count = hosts_for_farm();
    if (count == 0) {
      report("host_count", "the lab has no hosts: name them in `hosts`, or set host_count",
             ProblemKind::missing_key);
    } else if (count < listed) {
      report("host_count", fmt::format("{} is less than the {} of `hosts`", count, listed));
    } else if (count > kHostsMax) {
      report("host_count", fmt::format("{} hosts are above {}", count, kHostsMax));
    }
    if (!work_.is_sound()) return false;
    std::set<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
      const v1::HostSettings* own = i < listed ? &lab_.hosts(static_cast<int>(i)) : nullptr;
      listed_.push_back(own);
      LabHost host;
      host.name = own != nullptr ? own->name() : fmt::format("h{}", i);
      const std::string key = own != nullptr ? fmt::format("hosts[{}].name", i) : "host_count";
      if (!names.insert(host.name).second) report(key, fmt::format("there are two hosts '{}'", host.name));
      if (host.name.size() > kHostNameMax) {
        report(key, fmt::format("'{}' is longer than {} characters", host.name, kHostNameMax));
      }
      host.address = nth_address(second_byte(0), i);
      host.control_address = nth_address(78, i);
      host.mac = fmt::format("02:77:00:00:{:02x}:{:02x}", (i + 1) / 256, (i + 1) % 256);
      for (std::size_t plane = 1; plane < plan_.planes; ++plane) {
        const std::string end = "-" + plane_letter(plane);
        host.more_legs.push_back(
            {host.name + end,
             "data" + end,
             nth_address(second_byte(plane), i),
             fmt::format("02:{:02d}:00:00:{:02x}:{:02x}", second_byte(plane), (i + 1) / 256, (i + 1) % 256),
             {},
             0});
      }
      const bool own_cards = own != nullptr && own->offloads() != v1::OFFLOADS_AS_LAB;
      host.offloads = offloads_of(own_cards ? own->offloads() : lab_.offloads());
      const bool own_control = own != nullptr && !own->congestion_control().empty();
      host.congestion_control = own_control ? own->congestion_control() : lab_.congestion_control();
      host.card = own != nullptr ? own->card() : 0;
      host.loss = own != nullptr && own->loss() > 0 ? own->loss() : lab_.loss();
      host.bit_errors = own != nullptr && own->bit_errors() > 0 ? own->bit_errors() : lab_.bit_errors();
      if (own != nullptr) check_bit_errors(own->bit_errors(), fmt::format("hosts[{}].bit_errors", i));
      host.delay_ns =
          lab_ns((own != nullptr && own->delay_ms() > 0 ? own->delay_ms() : lab_.delay_ms()) / kMsPerS);
      if (own != nullptr) slow_down(*own, fmt::format("hosts[{}].", i), host);
      plan_.hosts.push_back(std::move(host));
    }
    return work_.is_sound();
  }

  void check_bit_errors(double rate, const std::string& key) {
    if (rate > 0 && rate < kBitErrorsMin)
      report(key, fmt::format("is below {:g}: set a rate that loses frames, or 0", kBitErrorsMin));
  }

  void slow_down(const v1::HostSettings& own, const std::string& key, LabHost& host) {
    host.cpu_share = own.cpu_share();
    if (host.cpu_share > 0 && host.cpu_share < kCpuShareMin)
      report(key + "cpu_share", fmt::format("is below {}: the nodes would make no progress", kCpuShareMin));
    host.pause = {lab_ns(own.pause().every_ms() / kMsPerS), lab_ns(own.pause().for_ms() / kMsPerS)};
    if ((host.pause.every_ns > 0) != (host.pause.for_ns > 0)) {
      report(key + "pause", "needs every_ms and for_ms");
    } else if (host.pause.every_ns > 0 && host.pause.for_ns >= host.pause.every_ns) {
      report(key + "pause.for_ms", "is not below every_ms: the host would never run");
    } else if (host.pause.for_ns > 0 &&
               std::min(host.pause.for_ns, host.pause.every_ns - host.pause.for_ns) < kMillisecond) {
      report(key + "pause", "has a pause, or a time between two, that is shorter than 1 ms");
    }
  }

  // Attaches hosts to racks in contiguous blocks, except hosts with a given place.
  bool attach() {
    const Edges edges = edges_of(lab_);
    const std::size_t hosts = plan_.hosts.size();
    const bool wan = lab_.topology() == v1::Lab::TOPOLOGY_WAN;
    if (wan && lab_.wan().far_hosts() > hosts) {
      report("wan.far_hosts", fmt::format("{} of {} hosts", lab_.wan().far_hosts(), hosts));
    }
    const std::size_t core = lab_.topology() == v1::Lab::TOPOLOGY_RACKS ? edges.count + 1 : 0;
    for (std::size_t i = 0; i < hosts; ++i) {
      const std::size_t said = listed_[i] != nullptr ? listed_[i]->attached() : 0;
      if (said > edges.count && said != core) {
        report(fmt::format("hosts[{}].attached", i),
               fmt::format("no {} {} exists, only {}", edges.noun, said, edges.count));
      } else if (said > 0) {
        plan_.hosts[i].attached = said - 1;
      } else if (wan) {
        plan_.hosts[i].attached = i + lab_.wan().far_hosts() >= hosts ? 1 : 0;
      } else {
        plan_.hosts[i].attached = i * edges.count / hosts;
      }
    }
    return work_.is_sound();
  }

  // ---- nodes

  [[nodiscard]] std::vector<const config::NodePlan*> unplaced(Role role) const {
    std::set<std::string> named;
    for (const v1::HostSettings& host : lab_.hosts()) named.insert(host.nodes().begin(), host.nodes().end());
    std::vector<const config::NodePlan*> nodes;
    for (const config::NodePlan* node : farm_->of_role(role)) {
      if (!node->masked && !named.contains(node->name)) nodes.push_back(node);
    }
    return nodes;
  }

  void place() {
    if (farm_ == nullptr) return;
    place_named();
    std::vector<std::size_t> free;  // hosts without named nodes
    for (std::size_t i = 0; i < plan_.hosts.size(); ++i) {
      if (listed_[i] == nullptr || listed_[i]->nodes().empty()) free.push_back(i);
    }
    const auto readouts = unplaced(Role::readout);
    const auto dcms = unplaced(Role::dcm);
    if (lab_.placement() == v1::Lab::PLACEMENT_TOGETHER) {
      share_out(readouts, free);
      share_out(dcms, free);
    } else if (readouts.size() + dcms.size() > free.size()) {
      report("host_count",
             fmt::format("{} readouts and {} DCMs do not fit on {} hosts, one on each: set lab.host_count, "
                         "lab.placement=together, or name the nodes of each host",
                         readouts.size(), dcms.size(), free.size()));
    } else {
      std::size_t next = 0;
      for (const auto& nodes : {readouts, dcms}) {
        for (const config::NodePlan* node : nodes) put(*node, free[next++]);
      }
    }
    for (const Role role : {Role::supervisor, Role::writer}) {
      for (const config::NodePlan* node : unplaced(role)) {
        plan_.places[node->name] = {kControl, control_address(), {}, {}, {}};
      }
    }
  }

  void place_named() {
    for (std::size_t i = 0; i < listed_.size(); ++i) {
      if (listed_[i] == nullptr) continue;
      for (int n = 0; n < listed_[i]->nodes_size(); ++n) {
        const std::string key = fmt::format("hosts[{}].nodes[{}]", i, n);
        const std::string& name = listed_[i]->nodes(n);
        const auto node = std::find_if(farm_->nodes.begin(), farm_->nodes.end(),
                                       [&](const config::NodePlan& one) { return one.name == name; });
        if (node == farm_->nodes.end()) {
          report(key, fmt::format("the farm has no node '{}'; `weir check` lists its nodes", name));
        } else if (plan_.places.contains(name)) {
          report(key, fmt::format("'{}' is on another host already", name));
        } else if (node->role == Role::supervisor) {
          report(key, "the supervisor is on the control network, beside the hosts");
        } else if (!node->masked) {
          put(*node, i);
        }
      }
    }
  }

  // Assigns contiguous blocks of nodes, of sizes that differ by one at most.
  void share_out(const std::vector<const config::NodePlan*>& nodes, const std::vector<std::size_t>& hosts) {
    if (!nodes.empty() && hosts.empty()) {
      return report("hosts", fmt::format("no host is left for '{}'", nodes.front()->name));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      put(*nodes[i], hosts[nodes.size() > hosts.size() ? i * hosts.size() / nodes.size() : i]);
    }
  }

  void put(const config::NodePlan& node, std::size_t i) {
    WEIR_ASSERT(i < plan_.hosts.size());
    LabHost& host = plan_.hosts[i];
    host.nodes.push_back(node.name);
    host.has_dcm = host.has_dcm || node.role == Role::dcm;
    LabPlace& place = plan_.places[node.name];
    place = {kFirstHost + i, host.address, {}, {}, host.congestion_control};
    if (node.role == Role::readout) {
      for (const LabLeg& leg : host.more_legs) place.planes.push_back(leg.address);
    }
    if (node.role == Role::dcm && lab_.addresses() == v1::Lab::ADDRESSES_PER_DCM) {
      if (dcms_ == kDcmAddressesMax)
        return report("addresses", fmt::format("are per-dcm: {} DCMs at most", kDcmAddressesMax));
      const std::size_t number = kFirstDcmAddress + dcms_++;
      host.dcm_addresses.push_back(nth_address(second_byte(0), number));
      for (std::size_t plane = 1; plane < plan_.planes; ++plane)
        host.more_legs[plane - 1].dcm_addresses.push_back(nth_address(second_byte(plane), number));
      place.address = host.dcm_addresses.back();
      for (std::size_t plane = 0; plane < plan_.planes; ++plane)
        place.sources.push_back(fmt::format("{}/{}", nth_address(second_byte(plane), number), kPrefixBits));
    }
  }

  // A host's name is a device name at its switch as well.
  void check_names() {
    std::set<std::string> taken(plan_.switches.begin(), plan_.switches.end());
    taken.insert({"switches", "control", "lo", "data", kNicDevice});
    for (const Link& link : plan_.links) taken.insert({link.from_device, link.to_device});
    if (plan_.line) taken.insert({plan_.line->from.device, plan_.line->to.device});
    for (const LabHost& host : plan_.hosts) {
      taken.insert({host.card_link(), host.card_exit()});
      for (const LabLeg& leg : host.more_legs) taken.insert(leg.device);
    }
    for (const LabHost& host : plan_.hosts) {
      if (taken.contains(host.name))
        report("hosts", fmt::format("'{}' cannot be a host's name: the lab uses it", host.name));
    }
  }

  LabWork work_;
  const v1::Lab& lab_;
  const config::FarmPlan* farm_;
  LabPlan& plan_;
  std::vector<const v1::HostSettings*> listed_;  // by host index
  std::size_t dcms_ = 0;                         // with an address of their own
};

}  // namespace

void LabWork::report(const std::string& key, std::string what, ProblemKind kind) {
  if (problems.size() < config::kProblemsMax)
    problems.push_back({kind, config::Severity::error, locations.of(key), "lab." + key, std::move(what)});
}

Expected<LabPlan, Problems> plan_lab(const config::LabFile& file, const config::FarmPlan* farm) {
  return Planner(file, farm).plan();
}

}  // namespace weir::lab
