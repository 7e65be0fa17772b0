#include "frame_order.hpp"
#include "offloads.hpp"
#include "sockets.hpp"
#include "space.hpp"
#include "tools.hpp"
#include <weir/base/assert.hpp>
#include <weir/lab/batches.hpp>
#include <weir/lab/network.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <stdexcept>
#include <unistd.h>

namespace weir::lab {

struct LabNetwork::Spaces {
  OwnedDescriptor outside{::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)};
  std::vector<OwnedDescriptor> files;
  bool in_order = true;
};

namespace {

constexpr const char* kTun = "/dev/net/tun";
constexpr const char* kNeedsRoot =
    "a lab creates network namespaces, which needs CAP_SYS_ADMIN and CAP_NET_ADMIN: run it as root";

void set(const std::string& name, const std::string& value, const std::string& where) {
  if (const auto done = write_sysctl(name, value); !done) {
    throw std::runtime_error(
        fmt::format("{}: cannot set /proc/sys/net/{} to '{}': {}", where, name, value, done.error()));
  }
}

// Must run before any device exists: IPv6 would send on a new one, and the ports would count it.
void prepare_space(const LabPlan& plan, Space space) {
  const std::string where = plan.space_name(space);
  for (const char* scope : {"all", "default"}) {
    (void)write_sysctl(fmt::format("ipv6/conf/{}/disable_ipv6", scope), "1");  // the kernel may lack IPv6
  }
  // A switch forwards frames; it has no firewall. The kernel may lack that, too.
  (void)write_sysctl("bridge/bridge-nf-call-iptables", "0");
  (void)write_sysctl("bridge/bridge-nf-call-ip6tables", "0");
  if (space < kFirstHost) return;
  for (const auto& [name, value] : plan.sysctls) set(name, value, "host " + where);
  const LabHost& host = plan.hosts[space - kFirstHost];
  if (!host.congestion_control.empty()) {
    if (write_sysctl("ipv4/tcp_congestion_control", host.congestion_control)) return;
    std::ifstream known("/proc/sys/net/ipv4/tcp_available_congestion_control");
    std::string names;
    std::getline(known, names);
    throw std::runtime_error(fmt::format("host {}: this kernel has no congestion_control '{}'; it has: {}",
                                         where, host.congestion_control, names));
  }
}

void set_offloads(const LabPlan& plan, const std::vector<OwnedDescriptor>& spaces) {
  in_space(spaces[kSwitches].get(), [&] {
    if (plan.has_fabric()) return;
    for (const LabHost& host : plan.hosts) {
      for (std::size_t plane = 0; host.delay_ns == 0 && plane < plan.planes; ++plane)
        set_offloads(host.leg(plane).device, plan.software ? Offloads::none : host.offloads);
      if (!host.relayed_nic) continue;
      set_offloads(host.card_link(), Offloads::none);
      set_offloads(host.card_exit(), Offloads::none);
    }
    for (const Link& link : plan.links) {
      if (link.delay_ns > 0) continue;
      set_offloads(link.from_device, Offloads::checksum);
      set_offloads(link.to_device, Offloads::checksum);
    }
  });
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    const LabHost& host = plan.hosts[i];
    in_space(spaces[kFirstHost + i].get(), [&] {
      if (host.delay_ns > 0 || plan.has_fabric()) {
        set_relayed_offloads("data", host.offloads);
        return;
      }
      // Nothing behind a packet socket completes checksums.
      for (std::size_t plane = 0; plane < plan.planes; ++plane)
        set_offloads(host.leg(plane).nic, plan.software ? Offloads::none : host.offloads);
    });
  }
}

}  // namespace

LabNetwork::LabNetwork() = default;
LabNetwork::~LabNetwork() = default;
LabNetwork::LabNetwork(LabNetwork&& other) noexcept = default;
LabNetwork& LabNetwork::operator=(LabNetwork&& other) noexcept = default;

int LabNetwork::space(Space space) const { return spaces_->files[space].get(); }

int LabNetwork::outside() const { return spaces_->outside.get(); }

bool LabNetwork::in_order() const { return spaces_->in_order; }

Expected<void, std::string> LabNetwork::enter(Space to) const {
  if (::setns(space(to), CLONE_NEWNET) == 0) return {};
  return Unexpected<std::string>(std::string("cannot enter a network namespace: ") + std::strerror(errno));
}

Expected<void, std::string> LabNetwork::change(const LabPlan& plan, const PortChange& change) const {
  WEIR_ASSERT(change.port < plan.ports.size());
  return run_tool(Tool::tc, change_line(plan, change), space(plan.ports[change.port].space));
}

Expected<void, std::string> LabNetwork::set_line_down(const LabPlan& plan, bool down) const {
  return run_tool(Tool::bridge, far_control_lines(plan, down), space(kControl));
}

Expected<void, std::string> LabNetwork::set_cut(const PlaneCut& cut, bool down) const {
  return run_tool(Tool::ip, cut_lines(cut, down), space(kSwitches));
}

Expected<void, std::string> LabNetwork::connect_once(const LabPlan& plan) const {
  if (!plan.locks_windows()) return {};
  try {
    meet_once(plan, *this);
  } catch (const std::exception& error) {
    return Unexpected<std::string>(error.what());
  }
  return {};
}

std::string LabNetwork::refusal() {
  try {
    (void)make_space([] {});
  } catch (const NotPermitted&) {
    return kNeedsRoot;
  } catch (const std::exception& error) {
    return error.what();
  }
  return missing_tools().value_or(std::string());
}

Expected<LabNetwork, NetworkError> LabNetwork::make(const LabPlan& plan) {
  using Failed = Unexpected<NetworkError>;
  if (auto missing = missing_tools()) return Failed({std::move(*missing), true});
  if (plan.needs_relay() && !plan.software && ::access(kTun, R_OK | W_OK) != 0)
    return Failed({fmt::format("{} needs {}: {} (as root: modprobe tun; in a container, pass the device)",
                               plan.has_fabric() ? "back_pressure" : "a long line or a link with a delay",
                               kTun, std::strerror(errno)),
                   true});
  LabNetwork network;
  network.spaces_ = std::make_unique<Spaces>();
  std::vector<OwnedDescriptor>& files = network.spaces_->files;
  try {
    std::vector<std::string> paths;
    for (Space space = 0; space < plan.spaces(); ++space) {
      files.push_back(make_space([&] { prepare_space(plan, space); }));
      paths.push_back(fmt::format("/proc/{}/fd/{}", ::getpid(), files.back().get()));
    }
    for (const Batch& batch : set_up_batches(plan, paths)) {
      if (const auto done = run_tool(batch.tool, batch.lines, network.space(batch.space)); !done) {
        return Failed({fmt::format("{}: {}", plan.space_name(batch.space), done.error()), false});
      }
    }
    set_offloads(plan, files);
    network.spaces_->in_order = keep_frame_order(plan, files);
  } catch (const NotPermitted&) {
    return Failed({kNeedsRoot, true});
  } catch (const std::exception& error) {
    return Failed({error.what(), false});
  }
  return network;
}

Expected<LabNetwork, NetworkError> LabNetwork::open(const LabPlan& plan,
                                                    const std::vector<std::string>& paths) {
  LabNetwork network;
  network.spaces_ = std::make_unique<Spaces>();
  for (Space space = 0; space < plan.spaces(); ++space) {
    network.spaces_->files.emplace_back(::open(paths[space].c_str(), O_RDONLY | O_CLOEXEC));
    if (!network.spaces_->files.back().is_open()) {
      return Unexpected<NetworkError>(
          {fmt::format("'{}': {}", plan.space_name(space), std::strerror(errno)), true});
    }
  }
  return network;
}

}  // namespace weir::lab
