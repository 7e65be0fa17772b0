#include "topology.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/time.hpp>
#include <weir/config/rate.hpp>
#include <weir/lab/fabric_plan.hpp>
#include <weir/lab/plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>

namespace weir::lab {
namespace {

constexpr std::uint32_t kStaticWindowMax = 9999;  // of weir-static-window

using config::ProblemKind;
using config::Problems;

constexpr std::size_t kDeviceNameMax = 15;
constexpr std::size_t kHostNameMax = 12;  // a device's name has 15 at most
constexpr std::size_t kHostsPerThird = 250;
constexpr std::size_t kHostsMax = 1000;
constexpr std::size_t kFirstDcmAddress = 127 * kHostsPerThird;  // 10.77.128.1
constexpr std::size_t kDcmAddressesMax = 126 * kHostsPerThird;
constexpr double kCpuShareMin = 0.01;  // a cgroup's smallest quota: 1 ms of 100
constexpr double kMsPerS = 1000;
constexpr double kBitErrorsMin = 1e-11;  // one of eight million full frames

std::int64_t ns(double seconds) { return std::llround(seconds * static_cast<double>(kSecond)); }

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
      : lab_(file.lab), locations_(file.locations), farm_(farm) {}

  Expected<LabPlan, Problems> plan() {
    settings();
    if (name_hosts() && attach()) {
      place();
      if (problems_.empty()) add_topology(lab_, listed_, plan_);
      check_names();
      foreign();
      if (problems_.empty()) changes();
      outages();
      planes();
      if (problems_.empty()) cuts();
      if (problems_.empty()) back_pressure();
      if (problems_.empty()) software();
    }
    if (!problems_.empty()) return Unexpected<Problems>(std::move(problems_));
    return std::move(plan_);
  }

 private:
  void report(const std::string& key, std::string what, ProblemKind kind = ProblemKind::inconsistent) {
    if (problems_.size() < config::kProblemsMax) {
      problems_.push_back({kind, config::Severity::error, locations_.of(key), "lab." + key, std::move(what)});
    }
  }

  void settings() {
    plan_.name = lab_.lab();
    plan_.back_pressure = back_pressure_of(lab_.back_pressure());
    if (lab_.switches() == v1::Lab::SWITCHES_SOFTWARE) plan_.software = queueing_of(lab_.port_queue());
    plan_.planes = lab_.planes();
    plan_.mark_packets = lab_.mark_packets();
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
    if (!problems_.empty()) return false;
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
          ns((own != nullptr && own->delay_ms() > 0 ? own->delay_ms() : lab_.delay_ms()) / kMsPerS);
      if (own != nullptr) slow_down(*own, fmt::format("hosts[{}].", i), host);
      plan_.hosts.push_back(std::move(host));
    }
    return problems_.empty();
  }

  void check_bit_errors(double rate, const std::string& key) {
    if (rate > 0 && rate < kBitErrorsMin)
      report(key, fmt::format("is below {:g}: set a rate that loses frames, or 0", kBitErrorsMin));
  }

  void slow_down(const v1::HostSettings& own, const std::string& key, LabHost& host) {
    host.cpu_share = own.cpu_share();
    if (host.cpu_share > 0 && host.cpu_share < kCpuShareMin)
      report(key + "cpu_share", fmt::format("is below {}: the nodes would make no progress", kCpuShareMin));
    host.pause = {ns(own.pause().every_ms() / kMsPerS), ns(own.pause().for_ms() / kMsPerS)};
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
    return problems_.empty();
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

  // ---- the rest

  // A host's name is a device name at its switch as well.
  void check_names() {
    std::set<std::string> taken(plan_.switches.begin(), plan_.switches.end());
    taken.insert({"switches", "control", "lo", "data", kNicDevice});
    for (const Link& link : plan_.links) taken.insert({link.from_device, link.to_device});
    if (plan_.line) taken.insert({plan_.line->from.device, plan_.line->to.device});
    for (const LabHost& host : plan_.hosts) {
      for (const LabLeg& leg : host.more_legs) taken.insert(leg.device);
    }
    for (const LabHost& host : plan_.hosts) {
      if (taken.contains(host.name))
        report("hosts", fmt::format("'{}' cannot be a host's name: the lab uses it", host.name));
    }
  }

  void foreign() {
    const auto host = [&](const std::string& key, const std::string& name) {
      const auto found = std::find_if(plan_.hosts.begin(), plan_.hosts.end(),
                                      [&](const LabHost& one) { return one.name == name; });
      if (found == plan_.hosts.end()) report(key, fmt::format("unknown host '{}'", name));
      return static_cast<std::size_t>(found - plan_.hosts.begin());
    };
    for (int i = 0; i < lab_.foreign_size(); ++i) {
      const v1::ForeignSettings& settings = lab_.foreign(i);
      const std::string key = fmt::format("foreign[{}].", i);
      Foreign traffic{host(key + "from", settings.from()), host(key + "to", settings.to()),
                      config::parse_rate(settings.rate()).value_or(0), ns(settings.start_s()),
                      ns(settings.stop_s())};
      if (settings.from() == settings.to()) report(key + "to", "is the host that sends");
      if (traffic.stop_ns != 0 && traffic.stop_ns <= traffic.start_ns)
        report(key + "stop_s", "is not after start_s");
      plan_.foreign.push_back(traffic);
    }
  }

  // Returns the index of the port that a change refers to, or nothing after reporting a problem.
  std::optional<std::size_t> port_of(const v1::ChangeSettings& change, const std::string& key) {
    if (change.host().empty() == change.link().empty()) {
      report(key + "host", change.host().empty() ? "is missing: set host or link" : "and link are two ports");
      return std::nullopt;
    }
    const bool by_host = change.link().empty();
    for (std::size_t i = 0; i < plan_.ports.size(); ++i) {
      const Port& port = plan_.ports[i];
      if (by_host ? port.to_host && port.device == change.host() : port.name == change.link()) return i;
    }
    const bool host = std::any_of(plan_.hosts.begin(), plan_.hosts.end(),
                                  [&](const LabHost& one) { return one.name == change.host(); });
    const auto counted = plan_.counted_ports();
    const bool line = std::any_of(counted.begin(), counted.end(),
                                  [&](const Port& one) { return one.name == change.link(); });
    if (by_host) {
      report(key + "host", host ? "has an unlimited port: set its port_rate from the start"
                                : fmt::format("unknown host '{}'", change.host()));
    } else {
      report(key + "link",
             line ? "is the long line, which keeps its rate"
                  : fmt::format("unknown or unlimited port '{}'; the summary of a run names the limited ones",
                                change.link()));
    }
    return std::nullopt;
  }

  void changes() {
    for (int i = 0; i < lab_.changes_size(); ++i) {
      const v1::ChangeSettings& settings = lab_.changes(i);
      const std::string key = fmt::format("changes[{}].", i);
      const auto port = port_of(settings, key);
      if (!port) continue;
      PortChange change{ns(settings.at_s()), *port, config::parse_rate(settings.port_rate()).value_or(0),
                        config::parse_buffer(settings.port_buffer()).value_or(0)};
      if (settings.port_rate().empty() && settings.port_buffer().empty()) {
        report(key + "port_rate", "is needed, or port_buffer: otherwise nothing changes");
      } else if (!settings.port_rate().empty() && change.rate_bits_per_s == 0) {
        report(key + "port_rate", "is unlimited: a port that changes stays limited");
      } else if (!settings.port_buffer().empty() && change.buffer_bytes < lab_.mtu() + kOverheadBytes) {
        report(key + "port_buffer", "is shorter than a frame");
      }
      if (!plan_.ports[*port].rings.empty())
        report("port_queue", fmt::format("is per-dcm, and changes[{}] is of such a port: not supported", i));
      plan_.changes.push_back(change);
    }
    std::stable_sort(plan_.changes.begin(), plan_.changes.end(),
                     [](const PortChange& a, const PortChange& b) { return a.at_ns < b.at_ns; });
    fill_changes();
  }

  void outages() {
    if (lab_.wan().outages_size() > 0 && lab_.topology() != v1::Lab::TOPOLOGY_WAN)
      report("wan.outages", "needs the topology wan: no other has a long line");
    for (const v1::OutageSettings& outage : lab_.wan().outages())
      plan_.outages.push_back({ns(outage.at_s()), ns(outage.for_s())});
    std::sort(plan_.outages.begin(), plan_.outages.end(),
              [](const Outage& a, const Outage& b) { return a.at_ns < b.at_ns; });
  }

  // Refuses planes where a part of the network exists only once.
  void planes() {
    if (plan_.planes == 1) return;
    if (plan_.line) report("planes", "are not for the topology wan: it has a single line");
    if (plan_.has_fabric()) report("planes", "are not for back_pressure: its switches are one machine");
    for (const LabHost& host : plan_.hosts) {
      if (host.delay_ns > 0)
        report("planes", fmt::format("are not for links with a delay, as of {}", host.name));
      if (host.loses_frames())
        report("planes", fmt::format("are not for hosts that lose frames, as {}: use cuts", host.name));
      if (host.slow_nic) report("planes", fmt::format("are not for hosts with a nic_rate, as {}", host.name));
    }
    for (const Link& link : plan_.links) {
      if (std::max(link.from_device.size(), link.to_device.size()) > kDeviceNameMax)
        return report("planes",
                      fmt::format("have too long names of devices, as {}: use up to 9 switches of a kind",
                                  link.from_device));
    }
  }

  // Returns the devices that a cut takes down, and its name; nothing after a problem.
  std::optional<PlaneCut> cut_of(const v1::CutSettings& settings, const std::string& key) {
    const std::size_t plane = settings.plane() - 1;
    if (plane >= plan_.planes) {
      report(key + "plane", fmt::format("is {}, and the lab has {}", settings.plane(), plan_.planes));
      return std::nullopt;
    }
    PlaneCut cut{ns(settings.at_s()), ns(settings.for_s()), {}, {}};
    const std::string in_plane = plan_.planes > 1 ? fmt::format(" in plane {}", settings.plane()) : "";
    const std::size_t count = plan_.switches.size() / plan_.planes;
    const auto is_here = [&](std::size_t at) { return at / count == plane; };
    if (!settings.host().empty() && !settings.link().empty()) {
      report(key + "host", "and link are two cuts");
    } else if (!settings.host().empty()) {
      for (const LabHost& host : plan_.hosts) {
        if (host.name == settings.host()) cut.devices = {host.leg(plane).device};
      }
      cut.what = settings.host() + in_plane;
      if (cut.devices.empty()) report(key + "host", fmt::format("unknown host '{}'", settings.host()));
    } else if (!settings.link().empty()) {
      for (const Link& link : plan_.links) {
        const std::string& from = plan_.switches[link.from % count];
        const std::string& to = plan_.switches[link.to % count];
        const bool named = settings.link() == from + ">" + to || settings.link() == to + ">" + from;
        if (named && is_here(link.from)) cut.devices = {link.from_device, link.to_device};
      }
      cut.what = settings.link() + in_plane;
      if (cut.devices.empty()) report(key + "link", fmt::format("unknown link '{}'", settings.link()));
    } else if (plan_.software) {
      for (const LabHost& host : plan_.hosts) cut.devices.push_back(host.leg(plane).device);
      cut.what = fmt::format("plane {}", settings.plane());
    } else {
      for (std::size_t at = 0; at < plan_.switches.size(); ++at) {
        if (is_here(at)) cut.devices.push_back(plan_.switches[at]);
      }
      cut.what = fmt::format("plane {}", settings.plane());
    }
    if (cut.devices.empty()) return std::nullopt;
    return cut;
  }

  void cuts() {
    if (lab_.cuts_size() > 0 && (plan_.line || plan_.has_fabric()))
      report("cuts", "are not for the topology wan, and not for back_pressure");
    for (int i = 0; i < lab_.cuts_size(); ++i) {
      if (auto cut = cut_of(lab_.cuts(i), fmt::format("cuts[{}].", i))) plan_.cuts.push_back(std::move(*cut));
    }
    std::stable_sort(plan_.cuts.begin(), plan_.cuts.end(),
                     [](const PlaneCut& a, const PlaneCut& b) { return a.at_ns < b.at_ns; });
  }

  // Switches in user space have ports and buffers of their own, which hold any sender back.
  void back_pressure() {
    for (std::size_t i = 0; i < plan_.hosts.size(); ++i) {
      if (plan_.hosts[i].card != 0 && plan_.back_pressure != FlowControl::credits)
        report(fmt::format("hosts[{}].card", i), "needs back_pressure: credits");
    }
    if (!plan_.has_fabric()) return;
    if (plan_.line)
      report("back_pressure", "is not for the topology wan: the line cannot hold a sender back");
    if (plan_.ring_packets > 0 && !plan_.software)
      report("back_pressure", "is not for port_queue: per-dcm: rings drop frames");
    if (!plan_.changes.empty()) report("changes", "are not for back_pressure: its ports keep their rates");
    for (const LabHost& host : plan_.hosts) {
      if (host.slow_nic)
        report("nic_rate", fmt::format("of {} is not for back_pressure: its card drops frames", host.name));
      if (host.offloads == Offloads::all)
        report("offloads", fmt::format("of {} are all: back_pressure needs frames of the wire", host.name));
    }
    const std::size_t ends = 2 * (plan_.hosts.size() + plan_.links.size());
    if (problems_.empty() && plan_.ports.size() != ends) {
      report("back_pressure",
             "needs a rate at each end of a link: set host_rate, port_rate and the rates of "
             "links between switches");
    }
    if (!problems_.empty()) return;
    if (auto problem = FabricPlan(plan_).problem(plan_)) report("back_pressure", std::move(*problem));
  }

  void software() {
    if (!plan_.software) {
      if (lab_.port_queue() == v1::Lab::PORT_QUEUE_PER_INPUT || lab_.port_queue() == v1::Lab::PORT_QUEUE_ONE)
        report("port_queue", "needs switches: software");
      if (plan_.mark_packets > 0) report("mark_packets", "needs switches: software");
      return;
    }
    if (plan_.has_fabric()) report("switches", "are software, and back_pressure has switches of its own");
    if (plan_.line) report("switches", "cannot be software in the topology wan");
    const bool delays = std::any_of(plan_.hosts.begin(), plan_.hosts.end(),
                                    [](const LabHost& host) { return host.delay_ns > 0; }) ||
                        std::any_of(plan_.links.begin(), plan_.links.end(),
                                    [](const Link& link) { return link.delay_ns > 0; });
    if (delays) report("switches", "cannot be software on links with a delay");
    for (const LabHost& host : plan_.hosts) {
      if (host.offloads == Offloads::all)
        report("offloads",
               fmt::format("of {} are all: software switches need frames of the wire", host.name));
    }
  }

  // Values that a change does not give keep their previous setting.
  void fill_changes() {
    std::vector<Port> now = plan_.ports;
    for (PortChange& change : plan_.changes) {
      WEIR_ASSERT(change.port < now.size());
      Port& port = now[change.port];
      if (change.rate_bits_per_s == 0) change.rate_bits_per_s = port.rate_bits_per_s;
      if (change.buffer_bytes == 0) change.buffer_bytes = port.buffer_bytes;
      port.rate_bits_per_s = change.rate_bits_per_s;
      port.buffer_bytes = change.buffer_bytes;
    }
  }

  const v1::Lab& lab_;
  const config::Locations& locations_;
  const config::FarmPlan* farm_;
  std::vector<const v1::HostSettings*> listed_;  // by host index
  LabPlan plan_;
  std::size_t dcms_ = 0;  // with an address of their own
  Problems problems_;
};

}  // namespace

Expected<LabPlan, Problems> plan_lab(const config::LabFile& file, const config::FarmPlan* farm) {
  return Planner(file, farm).plan();
}

}  // namespace weir::lab
