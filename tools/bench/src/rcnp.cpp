// Farms of the RCNP emulation's figures, one after the other.
#include "lab_farm.hpp"
#include "output.hpp"
#include "units.hpp"
#include <weir/bench/rcnp.hpp>
#include <weir/run_record/summary.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace weir::bench {
namespace {

constexpr std::uint32_t kFragmentBytes = 1000;
constexpr std::uint32_t kFinalMicroseconds =
    10'000;  // asleep, as the paper's servers have processors of their own
constexpr std::uint32_t kFinalUnits = 4;
constexpr std::uint32_t kUnlikeMicroseconds = 11'400;
constexpr std::uint32_t kUnlikeWorkstations = 5;
constexpr std::uint32_t kUnlikeServers = 6;
constexpr std::uint32_t kServerUnits = 3;

std::string filter_text(const RcnpPoint& point) {
  if (!point.policy.empty())
    return fmt::format(
        "{{plugin: sequential, parameters: {{steps: 1, sources_per_step: {}, asleep_microseconds: {}, "
        "reject: 1}}}}",
        point.sources_per_step, kUnlikeMicroseconds);
  if (point.steps == 0) return "{plugin: prescale, parameters: {n: 1000000000}}";  // rejects
  std::string after = "build: none";
  if (point.building == RcnpBuilding::same_farm)
    after = fmt::format("final_asleep_microseconds: {}", kFinalMicroseconds);
  if (point.building == RcnpBuilding::other_group) after = "forward: event-filter";
  return fmt::format(
      "{{plugin: sequential, parameters: {{steps: {}, sources_per_step: {}, microseconds: {}, reject: {}, "
      "{}, keep: "
      "none, draw: {}}}}}",
      point.steps, point.sources_per_step, point.microseconds, point.reject, after,
      point.sources_per_readout > 1 ? "group" : "remaining");
}

// Chosen as for the simulation of the figure (AssignmentCase).
std::string unlike_text(const RcnpPoint& point) {
  return fmt::format(
      "dcm:\n"
      "  credits: 17\n"
      "  nodes:\n"
      "    - {{name: 'workstation-{{i}}', count: {}}}\n"
      "    - {{name: 'server-{{i}}', count: {}, processing_units: {}}}\n"
      "filter: {}\n"
      "supervisor: {{policy: {}{}}}\n",
      kUnlikeWorkstations, kUnlikeServers, kServerUnits, filter_text(point), point.policy,
      point.policy == "schedule-table" ? ", weights: [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]" : "");
}

std::string dcm_text(const RcnpPoint& point) {
  if (!point.policy.empty()) return unlike_text(point);
  if (point.building != RcnpBuilding::other_group)
    return fmt::format("dcm: {{count: {}, credits: 4}}\nfilter: {}\n", point.dcms, filter_text(point));
  return fmt::format(
      "dcm:\n"
      "  credits: 4\n"
      "  nodes:\n"
      "    - {{name: 'selection-{{i}}', count: {0}, group: selection}}\n"
      "    - {{name: 'event-filter-{{i}}', count: {0}, group: event-filter}}\n"
      "  groups:\n"
      "    - {{name: selection, forward: [event-filter], filter: {1}}}\n"
      "    - {{name: event-filter, processing_units: {2}, filter: {{plugin: busy, parameters: "
      "{{microseconds: 0, "
      "asleep: {3}}}}}}}\n",
      point.dcms, filter_text(point), kFinalUnits, kFinalMicroseconds);
}

std::string farm_text(const RcnpPoint& point, double rate_hz) {
  const std::string trigger =
      rate_hz > 0 ? fmt::format("{{mode: poisson, rate_hz: {:.3f}}}", rate_hz) : std::string("{mode: max}");
  return fmt::format(
      "farm: bench-rcnp\n"
      "trigger: {}\n"
      "source: {{kind: dummy, size_bytes: {}}}\n"
      "readout: {{count: {}, sources_per_readout: {}}}\n"
      "{}"
      "writer: {{count: 0}}\n",
      trigger, kFragmentBytes, point.readouts, point.sources_per_readout, dcm_text(point));
}

std::vector<TimeAbove> times_of(const run_record::DecisionTimes& times) {
  std::vector<TimeAbove> above;
  for (const auto& one : times.above) above.push_back({static_cast<double>(one.us), one.share});
  return above;
}

// T_dec of a split farm is that of its first group.
void take_first_group(const run_record::Summary& summary, RcnpResult& result) {
  const run_record::GroupSummary& first = summary.groups.front();
  result.rate_hz = static_cast<double>(first.arrived) / summary.duration_s;
  result.mean_ms = result.selection_ms = first.decision_times.mean_us / kUsPerMs;
  result.sigma_ms = first.decision_times.sigma_us / kUsPerMs;
  result.p99_ms = static_cast<double>(first.decision_latency_us.p99) / kUsPerMs;
  result.max_ms = static_cast<double>(first.decision_latency_us.max) / kUsPerMs;
  result.above = times_of(first.decision_times);
}

RcnpResult result_of(const RcnpPoint& point, const run_record::Summary& summary) {
  RcnpResult result;
  result.point = point;
  result.rate_hz = summary.slices_per_s;
  result.mean_ms = summary.decision_times.mean_us / kUsPerMs;
  result.sigma_ms = summary.decision_times.sigma_us / kUsPerMs;
  result.p99_ms = static_cast<double>(summary.decision_latency_us.p99) / kUsPerMs;
  result.max_ms = static_cast<double>(summary.decision_latency_us.max) / kUsPerMs;
  const auto slices = static_cast<double>(std::max<std::uint64_t>(1, summary.cpu.slices));
  result.filter_ms = kMsPerS * summary.cpu.filter_s / slices;
  result.transport_ms = kMsPerS * summary.cpu.transport_s / slices;
  result.algorithm_ms = point.steps * point.microseconds / kUsPerMs;
  result.above = times_of(summary.decision_times);
  result.selection_ms = result.mean_ms;
  if (!summary.groups.empty()) {
    take_first_group(summary, result);
  } else if (point.building == RcnpBuilding::same_farm && summary.steps.size() > point.steps + 1U) {
    const run_record::StepSummary& last = summary.steps.back();
    const double share =
        static_cast<double>(last.slices) / static_cast<double>(summary.decision_latency_us.count);
    result.selection_ms -= share * (last.wait_us + last.process_us) / kUsPerMs;
  }
  return result;
}

Expected<RcnpResult, std::string> measure(const RcnpPoint& point, double seconds, double last_hz) {
  double rate_hz = point.rate_of_last ? last_hz : 0;
  if (!point.policy.empty())
    rate_hz =
        kMsPerS * kUsPerMs / kUnlikeMicroseconds * (kUnlikeWorkstations + kUnlikeServers * kServerUnits) / 2;
  if (point.half_load) {
    const auto most = summary_of_run(farm_text(point, 0), seconds);
    if (!most) return Unexpected<std::string>(most.error());
    rate_hz = most->slices_per_s / 2;
  }
  const MachineLoad load;
  const auto summary = summary_of_run(farm_text(point, rate_hz), seconds);
  if (!summary) return Unexpected<std::string>(summary.error());
  RcnpResult result = result_of(point, *summary);
  result.other_cores = load.others_cpu_s_per_s(cpu_s_of(*summary));
  return result;
}

}  // namespace

int run_rcnp(const RcnpOptions& options, std::FILE* out, std::FILE* err) {
  const auto& figures = rcnp_figures();
  const auto its = std::ranges::find(figures, options.figure, &RcnpFigure::id);
  if (its == figures.end()) {
    fmt::print(err, "weir bench rcnp: unknown figure '{}'\n", options.figure);
    return 2;
  }
  std::vector<RcnpResult> results;
  Figure figure;
  figure.bench = "rcnp";
  figure.needs_all = true;
  for (const RcnpPoint& point : its->points) {
    const auto measure_point = [&]() -> Expected<Lines, std::string> {
      auto result = measure(point, options.seconds, results.empty() ? 0 : results.back().rate_hz);
      if (!result) return Unexpected<std::string>(result.error());
      results.push_back(std::move(*result));
      return Lines{line_of(*its, results.back())};
    };
    figure.groups.push_back({{point.label, measure_point}});
  }
  figure.sentence = [](const Line& line) {
    return fmt::format("{:<24} {:>8.1f} slices/s, T_dec mean {:.3f} ms, CPU {:.3f} ms a slice",
                       text_of(line, "label"), number_of(line, "rate_hz"),
                       number_of(line, "decision_mean_ms"), number_of(line, "_cpu_ms"));
  };
  figure.page = [&](const Lines&) { return rcnp_page(*its, results, options, machine()); };
  Output output = options.output;
  if (output.name.empty()) output.name = "rcnp-" + its->id;
  return run_figure(figure, output, out, err);
}

}  // namespace weir::bench
