// Runs of a farm with a remote group, in a lab with a long line.
#include "lab_farm.hpp"
#include "output.hpp"
#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/remote.hpp>
#include <weir/run_record/summary.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <thread>

namespace weir::bench {
namespace {

constexpr std::uint32_t kRemoteReadouts = 4;
constexpr std::uint32_t kRemoteSources = 4;
constexpr double kLocalPort = 2;     // of the line's rate
constexpr double kForwarded = 1.1;   // of what the line carries
constexpr double kOutageFromS = 2;   // after the run's begin
constexpr double kOutageUntilS = 1;  // before the end of triggers

std::string farm_text(RemoteMode mode, const RemoteOptions& options) {
  const double share = mode == RemoteMode::idle ? 0 : kForwarded / kLocalPort;
  const std::string filter = fmt::format(
      "{{plugin: sequential, parameters: {{steps: 1, sources_per_step: {}, draw: group, reject: {:.3f}, "
      "forward: "
      "remote}}}}",
      kRemoteReadouts * kRemoteSources, 1 - share);
  return fmt::format(
      "farm: bench-remote\n"
      "run: {{drain_timeout_s: 60}}\n"
      "trigger: {{mode: max, first_slice: 1}}\n"  // prescale accepts slice 0
      "source: {{kind: dummy, size_bytes: {}}}\n"
      "readout: {{count: {}, sources_per_readout: {}, buffer_slices: 20000}}\n"
      "supervisor: {{pending_max: 64, in_flight_max: 12000}}\n"
      "writer: {{count: 0}}\n"
      "dcm:\n"
      "  nodes: [{{name: local, group: local}}, {{name: remote, group: remote}}]\n"
      "  groups:\n"
      "    - {{name: local, forward: [remote], credits: 32, filter: {}}}\n"
      "    - {{name: remote, remote: true, fetch: {}, credits: 256, lease_ms: 60000, pending_max: 11000, "
      "filter: {{plugin: prescale, parameters: {{n: 1000000000}}}}}}\n",
      options.fragment_bytes, kRemoteReadouts, kRemoteSources, filter,
      options.fetch ? "builder" : "readouts");
}

std::string lab_text(RemoteMode mode, const RemoteOptions& options) {
  std::string hosts;
  for (std::uint32_t i = 0; i < kRemoteReadouts; ++i)
    hosts += fmt::format("  - {{name: home-{0}, nodes: [readout-{0}], attached: 1}}\n", i);
  std::string outages;
  if (mode == RemoteMode::cut_off)
    outages = fmt::format(", outages: [{{at_s: {:g}, for_s: {:g}}}]", kOutageFromS,
                          options.seconds - kOutageFromS - kOutageUntilS);
  return fmt::format(
      "lab: bench-remote\n"
      "topology: wan\n"
      "port_rate: {:g}mbit\n"
      "port_buffer: 500k\n"
      "hosts:\n{}"
      "  - {{name: near, nodes: [local], attached: 1}}\n"
      "  - {{name: far, nodes: [remote], attached: 2}}\n"
      "wan: {{rate: {:g}mbit, buffer: 500k, delay_ms: {:g}{}}}\n",
      kLocalPort * options.line_mbit, hosts, options.line_mbit, options.delay_ms, outages);
}

// A group without slices is not in the summary.
run_record::GroupSummary group_of(const run_record::Summary& summary, const std::string& name) {
  const auto found = std::ranges::find(summary.groups, name, &run_record::GroupSummary::name);
  return found == summary.groups.end() ? run_record::GroupSummary{} : *found;
}

RemoteResult result_of(RemoteMode mode, std::uint32_t round, const RemoteOptions& options,
                       const run_record::Summary& summary) {
  RemoteResult result;
  result.mode = mode;
  result.round = round;
  const run_record::GroupSummary local = group_of(summary, "local");
  const run_record::GroupSummary remote = group_of(summary, "remote");
  result.local_hz = static_cast<double>(local.arrived) / options.seconds;
  result.arrived = remote.arrived;
  result.decided = remote.rejected + remote.stored;
  for (const reports::AppliedOutage& outage : summary.outages) result.outage_s += outage.for_s;
  const double up_s = std::max(1.0, summary.duration_s - result.outage_s);
  result.remote_hz = static_cast<double>(result.decided) / summary.duration_s;
  const double slice_bytes = kRemoteReadouts * kRemoteSources * static_cast<double>(options.fragment_bytes);
  result.line_share =
      static_cast<double>(result.decided) * slice_bytes / up_s / line_bytes_per_s(options.line_mbit);
  result.round_trip_p50_ms = static_cast<double>(remote.decision_latency_us.p50) / kUsPerMs;
  for (const auto& [reason, count] : summary.fragments_missing) result.incomplete += count;
  result.cpu_share =
      cpu_s_of(summary) / summary.duration_s / std::max(1U, std::thread::hardware_concurrency());
  result.balanced = summary.ledger_balanced;
  return result;
}

Expected<RemoteResult, std::string> measure(RemoteMode mode, std::uint32_t round,
                                            const RemoteOptions& options) {
  const ScratchFolder folder;
  run::RunOptions run;
  run.farm.farm_file = (folder.path() / "farm.yaml").string();
  run.lab_file = (folder.path() / "lab.yaml").string();
  std::ofstream(run.farm.farm_file) << farm_text(mode, options);
  std::ofstream(run.lab_file) << lab_text(mode, options);
  run.duration_s = options.seconds;
  run.out = (folder.path() / "out").string();
  run.log_level = "error";
  run.quiet = true;
  const auto summary = summary_of_lab_run(run);
  if (!summary) return Unexpected<std::string>(summary.error());
  if (summary->groups.empty()) return Unexpected<std::string>("the local group took no slice");
  return result_of(mode, round, options, *summary);
}

}  // namespace

int run_remote(const RemoteOptions& options, std::FILE* out, std::FILE* err) {
  if (!options.out.empty() && !make_folder(options.out, err)) return 1;
  std::vector<RemoteResult> results;
  bool good = true;
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    for (const RemoteMode mode : {RemoteMode::idle, RemoteMode::busy, RemoteMode::cut_off}) {
      const auto result = measure(mode, round, options);
      if (!result) {
        fmt::print(err, "weir bench remote: {}: {}\n", name(mode), result.error());
        return 1;
      }
      good = good && result->balanced && result->decided == result->arrived && result->incomplete == 0;
      fmt::print(err,
                 "{:<8} local {:.1f} slices/s, line {:.1f} %, {} of {} forwarded slices decided, ledger {}\n",
                 name(mode), result->local_hz, kPercent * result->line_share, result->decided,
                 result->arrived, result->balanced ? "balances" : "does NOT balance");
      results.push_back(*result);
    }
  }
  const std::string lines = remote_lines(results, options);
  fmt::print(out, "{}", lines);
  const std::string table = remote_table(results, options, machine());
  if (options.out.empty()) {
    fmt::print(err, "\n{}", table);
  } else if (const int written = write_output(options.out, options.name, lines, table, err); written != 0) {
    return written;
  }
  return good ? 0 : 1;
}

}  // namespace weir::bench
