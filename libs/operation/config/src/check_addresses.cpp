#include "validation.hpp"
#include "yaml_tree.hpp"

#include <charconv>
#include <string>
#include <system_error>

namespace weir::config {
namespace {

constexpr std::uint64_t kPortMax = 65535;

// Returns 0 for no port, any free port, or text that is not a number.
std::uint64_t port_in(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string::npos) return 0;
  std::uint64_t port = 0;
  const char* end = endpoint.data() + endpoint.size();
  const auto parsed = std::from_chars(endpoint.data() + colon + 1, end, port);
  return parsed.ec == std::errc() && parsed.ptr == end ? port : 0;
}

// Readout i of the plugin `udp` receives datagrams at its port + i.
void check_datagram_ports(Validation& found, const NodeFarms::Kind& readouts) {
  const v1::SourceSettings& source = found.here().source();
  const bool udp = source.kind() == v1::SourceSettings::KIND_UDP ||
                   (source.kind() == v1::SourceSettings::KIND_PLUGIN && source.plugin() == "udp");
  const auto given = source.parameters().find("port");
  if (!udp || given == source.parameters().end()) return;
  const std::uint64_t port = port_in(":" + given->second);
  for (const NodePlan* node : readouts.nodes) {
    if (port == 0 || port + node->index.value <= kPortMax) continue;
    return found.inconsistent("source.parameters", "port " + given->second + " leaves none for " +
                                                       in_quotes(node->name) + ", which takes port + " +
                                                       std::to_string(node->index.value));
  }
}

std::string host_in(const std::string& endpoint) { return endpoint.substr(0, endpoint.rfind(':')); }

// True if sockets that listen at these hosts of one machine cannot have the same port.
bool overlap(const std::string& one, const std::string& other) {
  const auto is_any = [](const std::string& host) {
    return host.empty() || host == "0.0.0.0" || host == "::" || host == "[::]";
  };
  const auto plain = [](const std::string& host) { return host == "localhost" ? "127.0.0.1" : host; };
  return is_any(one) || is_any(other) || plain(one) == plain(other);
}

// Run control's bus has the port of control.listen and the two after it.
// HTTPS takes a certificate and its key.
void check_page_certificate(Validation& found) {
  const v1::ControlSettings& control = found.farm().control();
  if (control.page_certificate().empty() != control.page_key().empty()) {
    const bool lacks_key = control.page_key().empty();
    found.error(ProblemKind::missing_key, lacks_key ? "control.page_key" : "control.page_certificate",
                std::string("needed by ") + (lacks_key ? "control.page_certificate" : "control.page_key") +
                    ": HTTPS takes both");
  } else if (!control.page_certificate().empty() && control.page().empty()) {
    found.warn("control.page_certificate", "has no effect without control.page");
  }
}

void check_page_port(Validation& found) {
  constexpr std::uint64_t kBusPorts = 3;
  const v1::ControlSettings& control = found.farm().control();
  const std::uint64_t bus = port_in(control.listen());
  const std::uint64_t page = port_in(control.page());
  if (bus == 0 || page < bus || page >= bus + kBusPorts) return;
  if (!overlap(host_in(control.listen()), host_in(control.page()))) return;
  found.inconsistent("control.page", "port " + std::to_string(page) +
                                         " belongs to the bus of run control, which takes " +
                                         std::to_string(bus) + " to " + std::to_string(bus + kBusPorts - 1) +
                                         " (control.listen and the two after it): choose another, as " +
                                         std::to_string(bus + kBusPorts));
}

}  // namespace

bool is_loopback(std::string_view listen) {
  const std::string_view host = listen.substr(0, listen.rfind(':'));
  return listen.empty() || host == "localhost" || host == "::1" || host == "[::1]" ||
         host.starts_with("127.");
}

namespace {

// Triggers as lines of text have keys of their own.
void check_trigger_exposure(Validation& found) {
  const v1::TriggerSettings& trigger = found.farm().trigger();
  if (is_loopback(trigger.listen_text()) || !trigger.key_file().empty()) return;
  if (found.farm().security().mode() == v1::SecuritySettings::MODE_OPEN) {
    found.warn("trigger.listen_text",
               "any program that reaches " + trigger.listen_text() +
                   " can offer triggers; create a key with `weir keys trigger` (docs/triggers.md)");
  } else {
    found.error(
        ProblemKind::missing_key, "trigger.key_file",
        "needed, as trigger.listen_text is " + trigger.listen_text() +
            ", outside this machine: create a key with `weir keys trigger`, or set security.mode=open on a "
            "private network");
  }
}

}  // namespace

// Reports nodes that listen on an address beyond this machine without a key.
void check_exposure(Validation& found, const FarmPlan& plan) {
  check_trigger_exposure(found);
  if (!found.farm().security().key_file().empty()) return;
  if (found.farm().security().tls())
    found.error(ProblemKind::missing_key, "security.key_file",
                "needed by security.tls: create keys with `weir keys new`");
  std::string first;
  std::size_t others = 0;
  const auto look_at = [&](const std::string& who, const std::string& listen) {
    if (is_loopback(listen)) return;
    others += first.empty() ? 0 : 1;
    if (first.empty()) first = who + " listens at " + listen;
  };
  for (const NodePlan& node : plan.nodes) look_at(node.name, node.listen);
  if (found.farm().trigger().mode() == v1::TriggerSettings::MODE_NETWORK)
    look_at("the supervisor's port for triggers", found.farm().trigger().listen());
  if (first.empty()) return;
  if (others > 0) first += " and " + std::to_string(others) + " more like it";
  if (found.farm().security().mode() == v1::SecuritySettings::MODE_OPEN) {
    found.warn("security.mode", "'open': " + first +
                                    ", and any process that reaches it can take part; create keys with `weir "
                                    "keys new` (docs/security.md)");
  } else {
    found.inconsistent("security.key_file", "needed, as " + first +
                                                ", outside this machine: create keys with `weir keys new`, "
                                                "or set security.mode=open on a private network");
  }
}

// Reports a row of ports that begins at a given one and would pass the highest port number.
void check_ports(Validation& found, const FarmPlan& plan) {
  const std::uint64_t metrics = port_in(found.farm().metrics().listen());
  if (metrics > 0 && metrics + plan.nodes.size() - 1 > kPortMax) {
    const std::size_t first_beyond = kPortMax + 1 - metrics;
    found.inconsistent("metrics.listen", in_quotes(plan.nodes[first_beyond].name) +
                                             " would need port 65536: start at " +
                                             std::to_string(kPortMax + 1 - plan.nodes.size()) +
                                             " or below, because each process uses the next port");
  }
  check_page_port(found);
  check_page_certificate(found);
  for (const NodeFarms::Kind& readouts : found.node_farms().kinds(plan, Role::readout))
    found.look_at(readouts.shared, [&] { check_datagram_ports(found, readouts); });
}

}  // namespace weir::config
