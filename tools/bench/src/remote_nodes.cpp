// Fig. 8 of the paper on remote farms: nodes with unlike ports behind a long line leave and return.
#include "remote_nodes.hpp"

#include "farm_operator.hpp"
#include "lab_farm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <stdexcept>
#include <unistd.h>

namespace weir::bench {
namespace {

constexpr std::uint32_t kReadouts = 4;
constexpr double kHomeMbit = 1000;  // ports of the hosts at home, and the line
constexpr double kRemoteEndS = 2;   // of the run after the last phase

}  // namespace

const RemoteNodes& remote_nodes() {
  static const RemoteNodes nodes = {
      .nodes = {{"giga", 1000}, {"fast-0", 100}, {"fast-1", 100}},
      .changes = {{120, true, "giga"}, {220, true, "fast-0"}, {300, false, "giga"}, {350, false, "fast-0"}},
      .until_s = 420,
      .event_bytes = 1e6,
      .delay_ms = 10,
      .processing_ms = 10,
      .paper =
          "about 6 Hz of the node with 1 Gb/s, which is removed at about 120 s, and 1 to 2 Hz of the "
          "nodes with 100 Mb/s (each or together: the text leaves it open), of which one is removed at about "
          "220 s; they return at 300 and 350 s, "
          "in an order that the text leaves open. The whole event was expected to take about 95 ms; a "
          "transfer of 1 MB took 115 ms instead of 42.5",
      .differs =
          "A node requests its next event when it has decided one, while the accepted event is on its way to "
          "the writer, and its TCP window is not limited by a small receive buffer, so the rates are higher; "
          "ports and events are scaled alike, so that times stay"};
  return nodes;
}

std::string remote_nodes_farm(const RemoteNodes& remote, double scale, const std::string& name) {
  std::string nodes = "{name: builder, group: near}";
  for (const RemoteNode& node : remote.nodes) nodes += fmt::format(", {{name: {}, group: far}}", node.name);
  return fmt::format(
      "farm: {}\n"
      "trigger: {{mode: max}}\n"
      "source: {{kind: dummy, size_bytes: {:.0f}}}\n"
      "readout: {{count: {}, sources_per_readout: 1, buffer_slices: 1000}}\n"
      "supervisor: {{status_interval_ms: 100, in_flight_max: 64, pending_max: 16}}\n"
      "network: {{congestion_control: cubic}}\n"
      "dcm:\n"
      "  deadline_ms: 5000\n"
      "  nodes: [{}]\n"
      "  groups:\n"
      "    - {{name: near, forward: [far], credits: 8, filter: {{plugin: sequential, parameters: {{steps: 1, "
      "sources_per_step: {}, draw: group, microseconds: 0, reject: 0, forward: far}}}}}}\n"
      "    - {{name: far, remote: true, fetch: builder, shaper: none, credits: {}, lease_ms: 30000, "
      "pending_max: "
      "16, "
      "filter: {{plugin: busy, parameters: {{microseconds: 0, asleep: {:.0f}}}}}}}\n"
      "writer: {{count: 1, sync_interval_ms: 20}}\n"
      "control: {{listen: '127.0.0.1:0'}}\n",
      name, scale * remote.event_bytes / kReadouts, kReadouts, nodes, kReadouts, remote.in_progress,
      1000 * remote.processing_ms);
}

std::string remote_nodes_lab(const RemoteNodes& remote, double scale) {
  std::string hosts =
      "  - {name: store, nodes: [writer-0], attached: 1}\n"
      "  - {name: home, nodes: [builder], attached: 1}\n";
  for (std::uint32_t i = 0; i < kReadouts; ++i)
    fmt::format_to(std::back_inserter(hosts), "  - {{name: source-{0}, nodes: [readout-{0}], attached: 1}}\n",
                   i);
  for (const RemoteNode& node : remote.nodes)
    fmt::format_to(
        std::back_inserter(hosts),
        "  - {{name: far-{0}, nodes: [{0}], attached: 2, port_rate: {1:g}mbit, host_rate: {1:g}mbit}}\n",
        node.name, scale * node.port_mbit);
  return fmt::format(
      "lab: bench-remote-nodes\n"
      "topology: wan\n"
      "port_rate: {0:g}mbit\n"
      "port_buffer: 1m\n"
      "hosts:\n{1}"
      "wan: {{rate: {0:g}mbit, buffer: 2m, delay_ms: {2:g}}}\n",
      scale * kHomeMbit, hosts, remote.delay_ms);
}

ChangingFarmResult measure_remote_nodes(const ChangingFarmOptions& options, const std::string& folder) {
  const RemoteNodes& remote = remote_nodes();
  const std::string name = fmt::format("bench-remote-nodes-{}", ::getpid());
  auto run = prepare_run(folder, remote_nodes_farm(remote, options.scale, name),
                         remote_nodes_lab(remote, options.scale));
  if (!run) throw std::runtime_error(run.error());
  run->duration_s = options.pace * remote.until_s + kRemoteEndS;
  auto farm_run = std::async(std::launch::async, [&] { return summary_of_lab_run(*run); });
  FarmOperator farm(control_of(name, farm_run), [] {});
  farm.wait_until([&] { return farm.begin_s() > 0; }, "no report of the supervisor has come");
  auto present = static_cast<std::uint32_t>(remote.nodes.size());
  farm.note_change("begin", present);
  for (const RemoteNodeChange& change : remote.changes) {
    farm.run_to(farm.begin_s() + options.pace * change.at_s);
    if (change.removes) {
      farm.remove(change.node, --present);
    } else {
      farm.add(change.node, ++present);
    }
  }
  farm.run_to(farm.begin_s() + options.pace * remote.until_s);
  const auto summary = farm_run.get();
  if (!summary) throw std::runtime_error(summary.error());
  ChangingFarmResult result;
  result.stored = farm.stored();
  result.phases = phases_of_unlike(result.stored, farm.changes());
  result.balanced = summary->ledger_balanced;
  result.stored_slices = summary->stored;
  result.discarded = run_record::total_of(summary->discarded);
  result.reason = summary->reason;
  return result;
}

}  // namespace weir::bench
