// Runs of a farm with a remote group, in a lab with a long line, and their page.
#include "lab_farm.hpp"
#include "output.hpp"
#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/conditions.hpp>
#include <weir/bench/remote.hpp>
#include <weir/run_record/summary.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

namespace weir::bench {
namespace {

constexpr std::uint32_t kRemoteReadouts = 4;
constexpr std::uint32_t kRemoteSources = 4;
constexpr double kLocalPort = 2;             // of the line's rate
constexpr double kForwarded = 1.1;           // of what the line carries
constexpr double kOutageFromS = 2;           // after the run's begin
constexpr double kOutageUntilS = 1;          // before the end of triggers
constexpr double kFullFrameBytes = 1538;     // a full one on the wire
constexpr double kFramePayloadBytes = 1448;  // of TCP with time stamps
constexpr double kWireBitsPerByte = 8;
constexpr double kBitsPerMbit = 1e6;
constexpr double kLineShareMin = 0.9;
constexpr double kLocalDifferenceMax = 0.03;
constexpr double kCpuShareMax = 0.5;

std::string remote_farm(RemoteMode mode, const RemoteOptions& options) {
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

std::string remote_lab(RemoteMode mode, const RemoteOptions& options) {
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

Line line_of(RemoteMode mode, std::uint32_t round, const RemoteOptions& options,
             const run_record::Summary& summary) {
  const run_record::GroupSummary local = group_of(summary, "local");
  const run_record::GroupSummary remote = group_of(summary, "remote");
  const std::uint64_t decided = remote.rejected + remote.stored;
  double outage_s = 0;
  for (const reports::AppliedOutage& outage : summary.outages) outage_s += outage.for_s;
  const double slice_bytes = kRemoteReadouts * kRemoteSources * static_cast<double>(options.fragment_bytes);
  const double up_s = std::max(1.0, summary.duration_s - outage_s);
  std::uint64_t missing = 0;
  for (const auto& [reason, count] : summary.fragments_missing) missing += count;
  return {
      {"bench", "remote"},
      {"mode", name(mode)},
      {"round", round},
      {"line_mbit", options.line_mbit},
      {"delay_ms", options.delay_ms},
      {"fragment_bytes", options.fragment_bytes},
      {"fetch", options.fetch},
      {"local_hz", static_cast<double>(local.arrived) / options.seconds},
      {"remote_hz", static_cast<double>(decided) / summary.duration_s},
      {"line_share", static_cast<double>(decided) * slice_bytes / up_s / line_bytes_per_s(options.line_mbit)},
      {"decision_p50_ms", static_cast<double>(remote.decision_latency_us.p50) / kUsPerMs},
      {"outage_s", outage_s},
      {"arrived", remote.arrived},
      {"decided", decided},
      {"fragments_missing", missing},
      {"cpu_share",
       cpu_s_of(summary) / summary.duration_s / std::max(1U, std::thread::hardware_concurrency())},
      {"balanced", summary.ledger_balanced}};
}

Expected<Lines, std::string> measure(RemoteMode mode, std::uint32_t round, const RemoteOptions& options) {
  const ScratchFolder folder;
  auto run = prepare_run(folder.path().string(), remote_farm(mode, options), remote_lab(mode, options));
  if (!run) return Unexpected<std::string>(run.error());
  run->duration_s = options.seconds;
  const auto summary = summary_of_lab_run(*run);
  if (!summary) return Unexpected<std::string>(summary.error());
  if (summary->groups.empty()) return Unexpected<std::string>("the local group took no slice");
  return Lines{line_of(mode, round, options, *summary)};
}

double against_idle(const Line& line, const Lines& medians) {
  return number_of(line, "local_hz") / std::max(1e-9, number_of(medians.front(), "local_hz")) - 1;
}

// Statements about the medians. Needs the modes idle and busy.
std::string remote_verdicts(const Lines& medians) {
  if (medians.size() < 2) return {};
  const double busy_share = number_of(medians[1], "line_share");
  double difference = 0;
  double cpu = 0;
  for (const Line& one : medians) {
    difference = std::max(difference, std::abs(against_idle(one, medians)));
    cpu = std::max(cpu, number_of(one, "cpu_share"));
  }
  return "\n" +
         verdict_text(
             busy_share >= kLineShareMin,
             fmt::format("the busy line carries at least {:.0f} % of theory", kPercent * kLineShareMin),
             fmt::format("{:.1f} %", kPercent * busy_share)) +
         verdict_text(
             difference <= kLocalDifferenceMax,
             fmt::format("the local group's medians are within {:.0f} %", kPercent * kLocalDifferenceMax),
             fmt::format("{:.1f} %", kPercent * difference)) +
         verdict_text(
             cpu < kCpuShareMax,
             fmt::format("the farm's processes use less than {:.0f} % of the cores", kPercent * kCpuShareMax),
             fmt::format("{:.0f} %", kPercent * cpu));
}

}  // namespace

std::string name(RemoteMode mode) {
  switch (mode) {
    case RemoteMode::idle:
      return "idle";
    case RemoteMode::busy:
      return "busy";
    case RemoteMode::cut_off:
      break;
  }
  return "cut off";
}

double line_bytes_per_s(double line_mbit) {
  return line_mbit * kBitsPerMbit / kWireBitsPerByte * kFramePayloadBytes / kFullFrameBytes;
}

Lines medians_by_mode(const Lines& lines) {
  Lines medians;
  for (const RemoteMode mode : {RemoteMode::idle, RemoteMode::busy, RemoteMode::cut_off}) {
    Lines rounds;
    std::vector<double> local;
    for (const Line& line : lines) {
      if (text_of(line, "mode") != name(mode)) continue;
      rounds.push_back(line);
      local.push_back(number_of(line, "local_hz"));
    }
    if (rounds.empty()) continue;
    Line& line = medians.emplace_back(medians_of(rounds));
    const auto [least, most] = std::ranges::minmax(local);
    const double middle = number_of(line, "local_hz");
    line["_local_spread"] = middle > 0 ? (most - least) / middle : 0;
  }
  return medians;
}

std::string remote_page(const Lines& lines, const RemoteOptions& options, const std::string& machine) {
  const Lines medians = medians_by_mode(lines);
  const auto percent = [](const char* head, const char* key, int digits) {
    return number_column(std::string(head) + ", %", key, digits, kPercent);
  };
  std::string text =
      page_head("A remote group beside a local one", options.output,
                fmt::format("A line of {:g} Mb/s with {:g} ms there and back; the local DCM's port has twice "
                            "as much. Slices of 16 x {} bytes, which the remote group {}. {} alternations of "
                            "{:g} s, medians. On {}.",
                            options.line_mbit, 2 * options.delay_ms, options.fragment_bytes,
                            options.fetch ? "fetches whole from the local DCM" : "builds from the readouts",
                            options.rounds, options.seconds, machine)) +
      table_of(
          medians,
          {text_column("remote group", "mode"),
           number_column("local slices/s", "local_hz", 1),
           percent("spread", "_local_spread", 1),
           {"against idle, %",
            [&](const Line& line) { return fmt::format("{:+.1f}", kPercent * against_idle(line, medians)); }},
           percent("payload on the line, of theory", "line_share", 1),
           number_column("remote assignment to decision, p50 ms", "decision_p50_ms", 0),
           percent("CPU", "cpu_share", 0)});
  const auto sum_of = [&](const char* key) {
    double sum = 0;
    for (const Line& line : lines) sum += number_of(line, key);
    return sum;
  };
  const auto balanced =
      std::ranges::count_if(lines, [](const Line& line) { return is_set(line, "balanced"); });
  text += fmt::format(
      "\n{} of {} forwarded slices were decided, {} fragments were missing; the ledger balances in {} of {} "
      "runs.\n",
      sum_of("decided"), sum_of("arrived"), sum_of("fragments_missing"), balanced, lines.size());
  text += remote_verdicts(medians);
  text +=
      "\nThe paper (II.B, III.B, Fig. 8): three remote nodes behind a line of 20 ms; about 6 Hz of "
      "the node with Gigabit Ethernet, 1 to 2 events/s of the nodes with 100 Mb/s (each or together: the "
      "text leaves it open), with events of "
      "1 MB and dummy data. Its transfer takes 42.5 ms with the test program and 115 ms in the "
      "application, because its socket buffer could not be set; the whole event was expected to "
      "take about 95 ms, so 10.5 Hz. The rate of 4 events per second is derived from the 115 ms. "
      "The statements above are Weir's own.\n\nDifference: here many slices are in flight over the "
      "line, so that it is full whatever the round trip.";
  text += options.fetch
              ? "\n"
              : " The paper's remote nodes get whole events from a builder, ours request the fragments from "
                "the readouts (with `--fetch` as in the paper).\n";
  return text;
}

int run_remote(const RemoteOptions& options, std::FILE* out, std::FILE* err) {
  const std::string where = where_now();
  Figure figure;
  figure.bench = "remote";
  figure.needs_lab = true;
  figure.line_per_round = figure.needs_all = true;
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    auto& group = figure.groups.emplace_back();
    for (const RemoteMode mode : {RemoteMode::idle, RemoteMode::busy, RemoteMode::cut_off})
      group.push_back({name(mode), [=, &options] { return measure(mode, round, options); }});
  }
  figure.sentence = [](const Line& line) {
    return fmt::format(
        "{:<8} local {:.1f} slices/s, line {:.1f} %, {} of {} forwarded slices decided, ledger {}",
        text_of(line, "mode"), number_of(line, "local_hz"), kPercent * number_of(line, "line_share"),
        number_of(line, "decided"), number_of(line, "arrived"),
        is_set(line, "balanced") ? "balances" : "does NOT balance");
  };
  figure.is_good = [](const Line& line) {
    return is_set(line, "balanced") && number_of(line, "decided") == number_of(line, "arrived") &&
           number_of(line, "fragments_missing") == 0;
  };
  figure.page = [&](const Lines& lines) { return remote_page(lines, options, where); };
  return run_figure(figure, options.output, out, err);
}

}  // namespace weir::bench
