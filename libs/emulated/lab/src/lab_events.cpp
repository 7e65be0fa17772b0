// Events of a lab during a run: foreign traffic, changes of ports, outages of the line, cuts.
#include "lab_work.hpp"
#include <weir/base/assert.hpp>
#include <weir/config/rate.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace weir::lab {
namespace {

// Returns the index of the port that a change refers to, or nothing after reporting a problem.
std::optional<std::size_t> port_of(LabWork& work, const v1::ChangeSettings& change, const std::string& key) {
  if (change.host().empty() == change.link().empty()) {
    work.report(key + "host",
                change.host().empty() ? "is missing: set host or link" : "and link are two ports");
    return std::nullopt;
  }
  const bool by_host = change.link().empty();
  for (std::size_t i = 0; i < work.plan.ports.size(); ++i) {
    const Port& port = work.plan.ports[i];
    if (by_host ? port.to_host && port.device == change.host() : port.name == change.link()) return i;
  }
  const bool host = std::any_of(work.plan.hosts.begin(), work.plan.hosts.end(),
                                [&](const LabHost& one) { return one.name == change.host(); });
  const auto counted = work.plan.counted_ports();
  const bool line =
      std::any_of(counted.begin(), counted.end(), [&](const Port& one) { return one.name == change.link(); });
  if (by_host) {
    work.report(key + "host", host ? "has an unlimited port: set its port_rate from the start"
                                   : fmt::format("unknown host '{}'", change.host()));
  } else {
    work.report(
        key + "link",
        line ? "is the long line, which keeps its rate"
             : fmt::format("unknown or unlimited port '{}'; the summary of a run names the limited ones",
                           change.link()));
  }
  return std::nullopt;
}

// Values that a change does not give keep their previous setting.
void fill_changes(LabPlan& plan) {
  std::vector<Port> now = plan.ports;
  for (PortChange& change : plan.changes) {
    WEIR_ASSERT(change.port < now.size());
    Port& port = now[change.port];
    if (change.rate_bits_per_s == 0) change.rate_bits_per_s = port.rate_bits_per_s;
    if (change.buffer_bytes == 0) change.buffer_bytes = port.buffer_bytes;
    port.rate_bits_per_s = change.rate_bits_per_s;
    port.buffer_bytes = change.buffer_bytes;
  }
}

// Returns the devices that a cut takes down, and its name; nothing after a problem.
std::optional<PlaneCut> cut_of(LabWork& work, const v1::CutSettings& settings, const std::string& key) {
  const std::size_t plane = settings.plane() - 1;
  if (plane >= work.plan.planes) {
    work.report(key + "plane", fmt::format("is {}, and the lab has {}", settings.plane(), work.plan.planes));
    return std::nullopt;
  }
  PlaneCut cut{lab_ns(settings.at_s()), lab_ns(settings.for_s()), {}, {}};
  const std::string in_plane = work.plan.planes > 1 ? fmt::format(" in plane {}", settings.plane()) : "";
  const std::size_t count = work.plan.switches.size() / work.plan.planes;
  const auto is_here = [&](std::size_t at) { return at / count == plane; };
  if (!settings.host().empty() && !settings.link().empty()) {
    work.report(key + "host", "and link are two cuts");
  } else if (!settings.host().empty()) {
    for (const LabHost& host : work.plan.hosts) {
      if (host.name == settings.host()) cut.devices = {host.leg(plane).device};
    }
    cut.what = settings.host() + in_plane;
    if (cut.devices.empty()) work.report(key + "host", fmt::format("unknown host '{}'", settings.host()));
  } else if (!settings.link().empty()) {
    for (const Link& link : work.plan.links) {
      const std::string& from = work.plan.switches[link.from % count];
      const std::string& to = work.plan.switches[link.to % count];
      const bool named = settings.link() == from + ">" + to || settings.link() == to + ">" + from;
      if (named && is_here(link.from)) cut.devices = {link.from_device, link.to_device};
    }
    cut.what = settings.link() + in_plane;
    if (cut.devices.empty()) work.report(key + "link", fmt::format("unknown link '{}'", settings.link()));
  } else if (work.plan.software) {
    for (const LabHost& host : work.plan.hosts) cut.devices.push_back(host.leg(plane).device);
    cut.what = fmt::format("plane {}", settings.plane());
  } else {
    for (std::size_t at = 0; at < work.plan.switches.size(); ++at) {
      if (is_here(at)) cut.devices.push_back(work.plan.switches[at]);
    }
    cut.what = fmt::format("plane {}", settings.plane());
  }
  if (cut.devices.empty()) return std::nullopt;
  return cut;
}

}  // namespace

void add_foreign_traffic(LabWork& work) {
  const auto host = [&](const std::string& key, const std::string& name) {
    const auto found = std::find_if(work.plan.hosts.begin(), work.plan.hosts.end(),
                                    [&](const LabHost& one) { return one.name == name; });
    if (found == work.plan.hosts.end()) work.report(key, fmt::format("unknown host '{}'", name));
    return static_cast<std::size_t>(found - work.plan.hosts.begin());
  };
  for (int i = 0; i < work.lab.foreign_size(); ++i) {
    const v1::ForeignSettings& settings = work.lab.foreign(i);
    const std::string key = fmt::format("foreign[{}].", i);
    Foreign traffic{host(key + "from", settings.from()), host(key + "to", settings.to()),
                    config::parse_rate(settings.rate()).value_or(0), lab_ns(settings.start_s()),
                    lab_ns(settings.stop_s())};
    if (settings.from() == settings.to()) work.report(key + "to", "is the host that sends");
    if (traffic.stop_ns != 0 && traffic.stop_ns <= traffic.start_ns)
      work.report(key + "stop_s", "is not after start_s");
    work.plan.foreign.push_back(traffic);
  }
}

void add_changes(LabWork& work) {
  for (int i = 0; i < work.lab.changes_size(); ++i) {
    const v1::ChangeSettings& settings = work.lab.changes(i);
    const std::string key = fmt::format("changes[{}].", i);
    const auto port = port_of(work, settings, key);
    if (!port) continue;
    PortChange change{lab_ns(settings.at_s()), *port, config::parse_rate(settings.port_rate()).value_or(0),
                      config::parse_buffer(settings.port_buffer()).value_or(0)};
    if (settings.port_rate().empty() && settings.port_buffer().empty()) {
      work.report(key + "port_rate", "is needed, or port_buffer: otherwise nothing changes");
    } else if (!settings.port_rate().empty() && change.rate_bits_per_s == 0) {
      work.report(key + "port_rate", "is unlimited: a port that changes stays limited");
    } else if (!settings.port_buffer().empty() && change.buffer_bytes < work.lab.mtu() + kOverheadBytes) {
      work.report(key + "port_buffer", "is shorter than a frame");
    }
    if (!work.plan.ports[*port].rings.empty())
      work.report("port_queue",
                  fmt::format("is per-dcm, and changes[{}] is of such a port: not supported", i));
    work.plan.changes.push_back(change);
  }
  std::stable_sort(work.plan.changes.begin(), work.plan.changes.end(),
                   [](const PortChange& a, const PortChange& b) { return a.at_ns < b.at_ns; });
  fill_changes(work.plan);
}

void add_outages(LabWork& work) {
  if (work.lab.wan().outages_size() > 0 && work.lab.topology() != v1::Lab::TOPOLOGY_WAN)
    work.report("wan.outages", "needs the topology wan: no other has a long line");
  for (const v1::OutageSettings& outage : work.lab.wan().outages())
    work.plan.outages.push_back({lab_ns(outage.at_s()), lab_ns(outage.for_s())});
  std::sort(work.plan.outages.begin(), work.plan.outages.end(),
            [](const Outage& a, const Outage& b) { return a.at_ns < b.at_ns; });
}

void add_cuts(LabWork& work) {
  if (work.lab.cuts_size() > 0 && (work.plan.line || work.plan.has_fabric()))
    work.report("cuts", "are not for the topology wan, and not for back_pressure");
  for (int i = 0; i < work.lab.cuts_size(); ++i) {
    if (auto cut = cut_of(work, work.lab.cuts(i), fmt::format("cuts[{}].", i)))
      work.plan.cuts.push_back(std::move(*cut));
  }
  std::stable_sort(work.plan.cuts.begin(), work.plan.cuts.end(),
                   [](const PlaneCut& a, const PlaneCut& b) { return a.at_ns < b.at_ns; });
}

}  // namespace weir::lab
