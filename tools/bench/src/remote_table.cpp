// Arithmetic and table of `weir bench remote`. Pure.
#include "units.hpp"
#include <weir/bench/remote.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::bench {
namespace {

namespace json = boost::json;

constexpr double kFullFrameBytes = 1538;     // a full one on the wire
constexpr double kFramePayloadBytes = 1448;  // of TCP with time stamps
constexpr double kWireBitsPerByte = 8;
constexpr double kBitsPerMbit = 1e6;
constexpr double kLineShareMin = 0.9;
constexpr double kLocalDifferenceMax = 0.03;
constexpr double kCpuShareMax = 0.5;

// Requires: not empty.
double remote_median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<double> values_of(const std::vector<RemoteResult>& results, RemoteMode mode,
                              double RemoteResult::*value) {
  std::vector<double> values;
  for (const RemoteResult& result : results) {
    if (result.mode == mode) values.push_back(result.*value);
  }
  return values;
}

// Statements about the medians. Needs the modes idle and busy.
std::string remote_verdicts(const std::vector<RemoteSummary>& summaries) {
  if (summaries.size() < 2) return {};
  const RemoteSummary& idle = summaries.front();
  const RemoteSummary& busy = summaries[1];
  double difference = 0;
  double cpu = 0;
  for (const RemoteSummary& one : summaries) {
    difference = std::max(difference, std::abs(one.local_hz / std::max(1e-9, idle.local_hz) - 1));
    cpu = std::max(cpu, one.cpu_share);
  }
  return "\n" +
         verdict_text(
             busy.line_share >= kLineShareMin,
             fmt::format("the busy line carries at least {:.0f} % of theory", kPercent * kLineShareMin),
             fmt::format("{:.1f} %", kPercent * busy.line_share)) +
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

std::vector<RemoteSummary> summaries_of(const std::vector<RemoteResult>& results) {
  std::vector<RemoteSummary> summaries;
  for (const RemoteMode mode : {RemoteMode::idle, RemoteMode::busy, RemoteMode::cut_off}) {
    const std::vector<double> local = values_of(results, mode, &RemoteResult::local_hz);
    if (local.empty()) continue;
    RemoteSummary summary;
    summary.mode = mode;
    summary.local_hz = remote_median(local);
    const auto [least, most] = std::minmax_element(local.begin(), local.end());
    summary.local_spread = summary.local_hz > 0 ? (*most - *least) / summary.local_hz : 0;
    summary.line_share = remote_median(values_of(results, mode, &RemoteResult::line_share));
    summary.cpu_share = remote_median(values_of(results, mode, &RemoteResult::cpu_share));
    summary.round_trip_p50_ms = remote_median(values_of(results, mode, &RemoteResult::round_trip_p50_ms));
    summaries.push_back(summary);
  }
  return summaries;
}

std::string remote_lines(const std::vector<RemoteResult>& results, const RemoteOptions& options) {
  std::string lines;
  for (const RemoteResult& result : results) {
    lines += json::serialize(json::object{{"bench", "remote"},
                                          {"mode", name(result.mode)},
                                          {"round", result.round},
                                          {"line_mbit", options.line_mbit},
                                          {"delay_ms", options.delay_ms},
                                          {"fragment_bytes", options.fragment_bytes},
                                          {"fetch", options.fetch},
                                          {"local_hz", result.local_hz},
                                          {"remote_hz", result.remote_hz},
                                          {"line_share", result.line_share},
                                          {"decision_p50_ms", result.round_trip_p50_ms},
                                          {"outage_s", result.outage_s},
                                          {"arrived", result.arrived},
                                          {"decided", result.decided},
                                          {"fragments_missing", result.incomplete},
                                          {"cpu_share", result.cpu_share},
                                          {"balanced", result.balanced}}) +
             "\n";
  }
  return lines;
}

std::string remote_table(const std::vector<RemoteResult>& results, const RemoteOptions& options,
                         const std::string& machine) {
  std::string text = fmt::format(
      "# A remote group beside a local one\n\n```sh\n{}\n```\nA line of {:g} Mb/s with {:g} ms there and "
      "back; the "
      "local DCM's port has twice as much. Slices of 16 x {} bytes, which the remote group {}. {} "
      "alternations "
      "of {:g} s, medians. On {}.\n\n"
      "| remote group | local slices/s | spread | against idle | payload on the line, of theory | remote "
      "assignment to decision, p50 ms | CPU |\n| --- | --- | --- | --- | --- | --- | --- |\n",
      options.command, options.line_mbit, 2 * options.delay_ms, options.fragment_bytes,
      options.fetch ? "fetches whole from the local DCM" : "builds from the readouts", options.rounds,
      options.seconds, machine);
  const std::vector<RemoteSummary> summaries = summaries_of(results);
  for (const RemoteSummary& one : summaries) {
    const double against = one.local_hz / std::max(1e-9, summaries.front().local_hz) - 1;
    text += fmt::format("| {} | {:.1f} | {:.1f} % | {:+.1f} % | {:.1f} % | {:.0f} | {:.0f} % |\n",
                        name(one.mode), one.local_hz, kPercent * one.local_spread, kPercent * against,
                        kPercent * one.line_share, one.round_trip_p50_ms, kPercent * one.cpu_share);
  }
  std::uint64_t arrived = 0;
  std::uint64_t decided = 0;
  std::uint64_t incomplete = 0;
  std::size_t balanced = 0;
  for (const RemoteResult& result : results) {
    arrived += result.arrived;
    decided += result.decided;
    incomplete += result.incomplete;
    balanced += result.balanced ? 1 : 0;
  }
  text += fmt::format(
      "\n{} of {} forwarded slices were decided, {} fragments were missing; the ledger balances in {} of {} "
      "runs.\n",
      decided, arrived, incomplete, balanced, results.size());
  text += remote_verdicts(summaries);
  text +=
      "\nThe paper (Fig. 8): three remote nodes over 20 ms reach about 4 events of 1.5 MB per second "
      "together, 95 ms "
      "per event and node (2 x 42.5 ms of transfer, 10 ms of processing), because a node asks for one event "
      "at a "
      "time and its TCP window is fixed by the receive buffer.\n\n"
      "Difference: here many slices are in flight over the line, so that it is full whatever the round "
      "trip.";
  text += options.fetch
              ? "\n"
              : " The paper's remote nodes get whole events from a builder, ours request the fragments from "
                "the readouts (with `--fetch` as in the paper).\n";
  return text;
}

}  // namespace weir::bench
