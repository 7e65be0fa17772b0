// Farms of the RCNP emulation's figures, one after the other.
#include "lab_farm.hpp"
#include "output.hpp"
#include "units.hpp"
#include <weir/bench/conditions.hpp>
#include <weir/bench/rcnp.hpp>
#include <weir/run_record/summary.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <system_error>

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

// Adds the values of each run of the point, because a line has their medians.
void add_runs(const std::vector<RcnpResult>& results, Line& line) {
  boost::json::array runs;
  for (const RcnpResult& one : results) {
    if (one.point.label != results.back().point.label) continue;
    runs.push_back(boost::json::object{{"rate_hz", four_digits(one.rate_hz)},
                                       {"decision_mean_ms", four_digits(one.mean_ms)},
                                       {"decision_sigma_ms", four_digits(one.sigma_ms)},
                                       {"decision_p99_ms", four_digits(one.p99_ms)},
                                       {"decision_max_ms", four_digits(one.max_ms)},
                                       {"filter_cpu_ms", four_digits(one.filter_ms)},
                                       {"transport_cpu_ms", four_digits(one.transport_ms)},
                                       {"selection_mean_ms", four_digits(one.selection_ms)},
                                       {"other_cores", four_digits(one.other_cores)}});
  }
  line["runs"] = std::move(runs);
}

// Takes the figures that a line, or one of its runs, has.
void take_figures(const Line& line, RcnpResult& result) {
  const auto take = [&](const char* key, double& figure) {
    if (line.contains(key)) figure = number_of(line, key);
  };
  take("rate_hz", result.rate_hz);
  take("decision_mean_ms", result.mean_ms);
  take("decision_sigma_ms", result.sigma_ms);
  take("decision_p99_ms", result.p99_ms);
  take("decision_max_ms", result.max_ms);
  take("filter_cpu_ms", result.filter_ms);
  take("transport_cpu_ms", result.transport_ms);
  take("algorithm_ms", result.algorithm_ms);
  take("selection_mean_ms", result.selection_ms);
  take("other_cores", result.other_cores);
}

// Reads the results in lines of an earlier run, and appends these to `lines`. A line without the values of
// its runs is one run.
Expected<std::vector<RcnpResult>, std::string> results_of(const RcnpFigure& figure, const std::string& file,
                                                          Lines& lines) {
  std::vector<RcnpResult> results;
  std::istringstream text(file);
  for (std::string written; std::getline(text, written);) {
    std::error_code error;
    const boost::json::value value = boost::json::parse(written, error);
    const std::size_t number = lines.size() % figure.points.size();
    if (error || !value.is_object() || text_of(value.get_object(), "figure") != figure.id ||
        text_of(value.get_object(), "label") != figure.points[number].label)
      return Unexpected<std::string>(
          fmt::format("line {} is none of figure {}", lines.size() + 1, figure.id));
    const Line& line = lines.emplace_back(value.get_object());
    RcnpResult result;
    result.point = figure.points[number];
    result.run = static_cast<std::uint32_t>((lines.size() - 1) / figure.points.size()) + 1;
    take_figures(line, result);
    for (const auto& one : line.at("decision_above_us").as_array())
      result.above.push_back({one.at(0).to_number<double>(), one.at(1).to_number<double>()});
    const auto* runs = line.if_contains("runs");
    if (runs == nullptr) results.push_back(result);
    for (std::size_t run = 0; runs != nullptr && run < runs->as_array().size(); ++run) {
      result.run = static_cast<std::uint32_t>(run) + 1;
      take_figures(runs->at(run).as_object(), result);
      results.push_back(result);
    }
  }
  if (results.empty()) return Unexpected<std::string>("it has no lines, or cannot be read");
  std::ranges::stable_sort(results, {}, &RcnpResult::run);  // as they were measured
  return results;
}

int judge_again(const RcnpFigure& figure, const RcnpOptions& options, std::FILE* out, std::FILE* err) {
  Lines lines;
  const auto results = results_of(figure, read(options.judge), lines);
  if (!results) {
    fmt::print(err, "weir bench rcnp: '{}': {}\n", options.judge, results.error());
    return 2;
  }
  RcnpOptions its = options;
  its.output.command = {};
  fmt::print(out, "{}", rcnp_page(figure, *results, its, text_of(conditions_of(lines))));
  return 0;
}

}  // namespace

int run_rcnp(const RcnpOptions& options, std::FILE* out, std::FILE* err) {
  const auto& figures = rcnp_figures();
  const auto its = std::ranges::find(figures, options.figure, &RcnpFigure::id);
  if (its == figures.end()) {
    fmt::print(err, "weir bench rcnp: unknown figure '{}'\n", options.figure);
    return 2;
  }
  if (!options.judge.empty()) return judge_again(*its, options, out, err);
  std::vector<RcnpResult> results;
  Figure figure;
  figure.bench = "rcnp";
  figure.needs_all = true;
  figure.rounds = options.rounds;
  const RunConditions conditions = conditions_now();
  auto& group = figure.groups.emplace_back();
  for (const RcnpPoint& point : its->points) {
    const auto measure_point = [&]() -> Expected<Lines, std::string> {
      auto result = measure(point, options.seconds, results.empty() ? 0 : results.back().rate_hz);
      if (!result) return Unexpected<std::string>(result.error());
      result->run = static_cast<std::uint32_t>(results.size() / its->points.size()) + 1;
      results.push_back(std::move(*result));
      Line line = line_of(*its, results.back());
      add_to(line, conditions);
      add_runs(results, line);
      return Lines{std::move(line)};
    };
    group.push_back({point.label, measure_point});
  }
  figure.sentence = [](const Line& line) {
    return fmt::format("{:<24} {:>8.1f} slices/s, T_dec mean {:.3f} ms, CPU {:.3f} ms a slice",
                       text_of(line, "label"), number_of(line, "rate_hz"),
                       number_of(line, "decision_mean_ms"), number_of(line, "_cpu_ms"));
  };
  figure.page = [&](const Lines&) { return rcnp_page(*its, results, options, text_of(conditions)); };
  Output output = options.output;
  if (output.name.empty()) output.name = "rcnp-" + its->id;
  return run_figure(figure, output, out, err);
}

}  // namespace weir::bench
