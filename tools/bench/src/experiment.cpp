// Runs of an experiment, one after the other, each in a virtual network of its own.
#include "antares_bursts.hpp"
#include "arrival_delays.hpp"
#include "failover_run.hpp"
#include "lab_farm.hpp"
#include "output.hpp"
#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/experiment.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/network_trace.hpp>
#include <weir/run/static_window.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <thread>
#include <unistd.h>

namespace weir::bench {
namespace {

namespace json = boost::json;

constexpr double kStartAndEndS = 4;  // of a run's processes, with samples of the load, roughly
constexpr double kSecondsPerMinute = 60;
constexpr std::uint64_t kSlowUs = 200'000;  // TCP's shortest retransmission timeout

constexpr double kSegmentBytes = 1448;    // of a full frame: TCP with time stamps, MTU 1500
constexpr std::size_t kDelaysMax = 1000;  // points of a figure

void take_percentiles(const run_record::Percentiles& percentiles, Line& figures) {
  figures["mean_ms"] = percentiles.mean / kUsPerMs;
  figures["sigma_ms"] = percentiles.sigma / kUsPerMs;
  figures["min_ms"] = nullptr;  // a pushed slice has none, nor a histogram
  figures["p50_ms"] = static_cast<double>(percentiles.p50) / kUsPerMs;
  figures["p99_ms"] = static_cast<double>(percentiles.p99) / kUsPerMs;
  figures["max_ms"] = static_cast<double>(percentiles.max) / kUsPerMs;
  figures["slow_share"] = nullptr;
  figures["histogram_ms"].emplace_array();
}

void take_latency(const metrics::ValueHistogram& latency, Line& figures) {
  take_percentiles(run_record::percentiles_of(latency), figures);
  std::map<std::uint32_t, std::uint64_t> bins;
  std::uint64_t slow = 0;
  for (const auto& bucket : latency.encode().buckets) {
    const std::uint64_t first = metrics::ValueHistogram::bucket_first(bucket.index);
    const std::uint64_t middle = (first + metrics::ValueHistogram::bucket_last(bucket.index)) / 2;
    bins[static_cast<std::uint32_t>(middle / static_cast<std::uint64_t>(kUsPerMs))] += bucket.count;
    if (middle >= kSlowUs) slow += bucket.count;
  }
  for (const auto& [ms, slices] : bins) figures["histogram_ms"].as_array().push_back(json::array{ms, slices});
  if (latency.count() > 0)
    figures["slow_share"] = static_cast<double>(slow) / static_cast<double>(latency.count());
  figures["min_ms"] = static_cast<double>(latency.min()) / kUsPerMs;
}

// Of the ports: drops, pauses and the use of the readouts' own ones, which are named "r0>switch".
void take_ports(const run_record::Summary& summary, Line& figures) {
  std::uint64_t drops = 0;
  std::uint64_t settling_drops = 0;
  std::uint64_t pauses = 0;
  const reports::PortReport none{};
  const reports::PortReport* drops_at = &none;
  const reports::PortReport* held = &none;
  std::vector<double> uses;
  for (const reports::PortReport& port : summary.ports) {
    drops += port.drops_after_1s;
    settling_drops += port.drops - port.drops_after_1s;
    pauses += port.pauses;
    if (port.drops_after_1s > drops_at->drops_after_1s) drops_at = &port;
    if (port.paused_s > held->paused_s) held = &port;
    if (port.name.size() > 1 && port.name[0] == 'r' && std::isdigit(port.name[1]) != 0)
      uses.push_back(port.use);
  }
  figures["drops"] = drops;
  figures["settling_drops"] = settling_drops;
  figures["drops_at"] = drops_at->name;
  figures["source_least"] = uses.empty() ? 0 : std::ranges::min(uses);
  figures["source_most"] = uses.empty() ? 0 : std::ranges::max(uses);
  figures["pauses"] = pauses;
  figures["held_share"] = summary.duration_s > 0 ? std::min(1.0, held->paused_s / summary.duration_s) : 0;
  figures["held_at"] = held->name;
}

// Losses and delays of the lab besides its ports.
void take_lab(const run_record::Summary& summary, Line& figures) {
  std::uint64_t other_drops = summary.lab ? summary.lab->machine_drops : 0;
  std::uint64_t bit_error_losses = 0;
  for (const reports::DisturbedHost& host : summary.disturbed) bit_error_losses += host.frames_lost;
  figures["jitter_p99_ms"] = 0.0;
  figures["inexact_delay"] = false;
  if (summary.lab && summary.lab->relay) {
    other_drops += summary.lab->relay->dropped;
    // These are among the ports' drops.
    for (const auto& [reason, frames] : summary.lab->relay->drops) {
      if (reason == "queue_full" || reason == "refused") other_drops -= frames;
    }
    figures["jitter_p99_ms"] = static_cast<double>(summary.lab->relay->late_p99_us) / kUsPerMs;
    figures["inexact_delay"] = summary.lab->relay->is_inexact();
  }
  figures["bit_error_losses"] = bit_error_losses;
  figures["other_drops"] = other_drops;
  figures["_knows_drops"] = summary.lab.has_value();
}

json::array points_of(const Series& series) {
  json::array points;
  for (const auto& [x, y] : series) points.push_back(json::array{four_digits(x), four_digits(y)});
  return points;
}

void take_trace(Show show, const TraceView& view, Line& figures) {
  figures["idle_gaps"] = view.idle_gaps;
  figures["collection_ms"] = view.collection_ms;
  figures["early_requests"] = view.early_requests;
  figures["longest_queue_kb"] = view.most_queue_kb;
  figures["_queue_at"] = view.queues.empty() ? "" : view.queues.front().port;
  if (show == Show::use) figures["use"] = points_of(view.use);
  if (show == Show::collection) {
    figures["requests"] = points_of(view.requests);
    figures["responses"] = points_of(view.responses);
  }
  if (show != Show::queues) return;
  json::object& queues = figures["queues"].emplace_object();
  for (const TraceView::Queue& queue : view.queues) queues[queue.port] = points_of(queue.kb);
}

std::vector<std::string> arrivals_of(const ExperimentPoint& point, const std::string& out) {
  std::vector<std::string> files;
  for (std::uint32_t dcm = 0; dcm < point.setting.dcms; ++dcm)
    files.push_back(read(fmt::format("{}/run-000001-dcm-{}-arrivals.csv", out, dcm)));
  return files;
}

void take_fragments(const ExperimentPoint& point, double rate_hz, const std::vector<std::string>& arrivals,
                    Line& figures) {
  std::vector<double> delays = fragment_delays_of(arrivals, point.cure.group, kMsPerS / rate_hz);
  std::sort(delays.begin(), delays.end());
  const auto count = static_cast<double>(delays.size());
  figures["fragments"] = delays.size();
  figures["fragment_mean_ms"] =
      delays.empty() ? 0 : std::accumulate(delays.begin(), delays.end(), 0.0) / count;
  figures["fragment_p99_ms"] = delays.empty() ? 0 : delays[(delays.size() * 99 - 1) / 100];
  figures["fragment_max_ms"] = delays.empty() ? 0 : delays.back();
}

Expected<Line, std::string> measure(const ExperimentPoint& point, const ExperimentTimes& times,
                                    const std::string& folder) {
  double rate_hz = point.setting.rate_hz;
  const double fragments = point.setting.readouts * point.setting.sources;
  const double slice_bytes = fragments * point.setting.fragment_bytes;
  auto run = prepare_run(folder, farm_text(point, times, rate_hz), lab_text(point));
  if (!run) return Unexpected<std::string>(run.error());
  if (point.setting.load > 0) {
    const auto theory = theory_of_run(*run, slice_bytes, fragments);
    if (!theory) return Unexpected<std::string>(theory.error());
    rate_hz = point.setting.load * theory->thesis_goodput_bytes_per_s / slice_bytes;
    run = prepare_run(folder, farm_text(point, times, rate_hz), lab_text(point));
    if (!run) return Unexpected<std::string>(run.error());
  }
  run->settle_s = times.settle_s;
  if (needs_trace(point.show)) run->trace_network = folder + "/trace.jsonl";
  const MachineLoad load;
  FailoverTrace trace;
  const auto summary = point.show == Show::failover
                           ? watch_lab_run(*run, point.farm, times.settle_s + times.measure_s, trace)
                           : summary_of_lab_run(*run);
  if (!summary) return Unexpected<std::string>(summary.error());
  if (!summary->after_1s) return Unexpected<std::string>("no process reported after the settling time");
  Line figures = figures_of(*summary, rate_hz, point.setting.push);
  figures["cpu_s_per_s"] = load.cpu_s_per_s();
  add_derived(point, figures);
  if (point.show == Show::failover) take_failover(trace, point, times, *summary, figures);
  if (point.setting.push) {
    const std::vector<std::string> arrivals = arrivals_of(point, run->out);
    take_fragments(point, rate_hz, arrivals, figures);
    if (point.show == Show::delays) figures["delays"] = points_of(delays_of(arrivals, kDelaysMax));
  }
  if (run->trace_network.empty()) return figures;
  const auto network = lab::NetworkTrace::from_lines(read(run->trace_network));
  if (!network) return Unexpected<std::string>(network.error());
  take_trace(point.show, view_of(*network, "d0", times.settle_s, slice_bytes), figures);
  return figures;
}

// Returns the figures of the largest load without losses; those of the least load that was tried if all had
// some.
Expected<ExperimentResult, std::string> measure_loss_free(ExperimentPoint point, const ExperimentTimes& times,
                                                          const std::string& folder, std::FILE* err) {
  LossFreeSearch search;
  std::optional<ExperimentResult> best;
  while (!search.done()) {
    point.setting.load = search.load();
    auto figures = measure(point, times, folder);
    if (!figures) return Unexpected<std::string>(figures.error());
    fmt::print(
        err, "  {}: load {:.1f} %, goodput {:.1f} % of theory, {:.0f} drops, {:.1f} retransmissions/s\n",
        label_of(point), kPercent * point.setting.load, kPercent * number_of(*figures, "share_of_theory"),
        number_of(*figures, "drops") + number_of(*figures, "other_drops"),
        number_of(*figures, "retransmits_per_s"));
    if (search.measured(is_loss_free(*figures))) best = ExperimentResult{point, 1, std::move(*figures)};
  }
  return std::move(*best);
}

Expected<ExperimentResult, std::string> measure_point(const ExperimentPoint& point,
                                                      const ExperimentTimes& times,
                                                      const ExperimentOptions& options,
                                                      const std::string& folder, std::FILE* err) {
  if (options.loss_free) return measure_loss_free(point, times, folder, err);
  auto figures = measure(point, times, folder);
  if (!figures) return Unexpected<std::string>(figures.error());
  return ExperimentResult{point, 1, std::move(*figures)};
}

std::string sentence(const Line& line) {
  const auto figure = [&](const char* key) { return number_of(line, key); };
  const std::string at = text_of(line, "drops_at");
  const double offered_hz = figure("offered_hz");
  return fmt::format(
      "{} at {:g}: {:.1f} {}, {:.1f} % of theory, latency mean {:.1f} ms sigma {:.1f} p99 {:.1f}, "
      "{:.0f} drops{}{}",
      text_of(line, "_label"), figure("x_paper"), figure("sustained_hz"),
      offered_hz > 0 ? fmt::format("of {:.1f} slices/s", offered_hz) : "slices/s at full speed",
      kPercent * figure("share_of_theory"), figure("mean_ms"), figure("sigma_ms"), figure("p99_ms"),
      figure("drops"), at.empty() ? "" : ", most at " + at,
      figure("delay_ms") > 0 ? fmt::format(", jitter {:.2f} ms", figure("jitter_p99_ms")) : "");
}

}  // namespace

Line figures_of(const run_record::Summary& summary, double offered_hz, bool push) {
  const run_record::SteadySummary& after = *summary.after_1s;
  const double theory = summary.theory.thesis_goodput_bytes_per_s;
  const double again = after.seconds > 0 ? static_cast<double>(after.retransmits) / after.seconds : 0;
  Line figures{{"offered_hz", offered_hz},
               {"sustained_hz", after.slices_per_s},
               {"goodput_bytes_per_s", after.goodput_bytes_per_s},
               {"thesis_goodput_bytes_per_s", theory},
               {"theoretical_goodput_bytes_per_s", summary.theory.goodput_bytes_per_s},
               {"share_of_theory", theory > 0 ? after.goodput_bytes_per_s / theory : 0},
               {"serialisation_ms", summary.theory.serialisation_us / kUsPerMs},
               {"retransmits_per_s", again},
               {"retransmitted", again > 0 ? again / (after.goodput_bytes_per_s / kSegmentBytes + again) : 0},
               {"_sustained", offered_hz > 0 ? after.slices_per_s / offered_hz : 0}};
  if (push) {
    take_percentiles(after.build_latency_us, figures);
  } else {
    take_latency(after.latency, figures);
  }
  take_ports(summary, figures);
  take_lab(summary, figures);
  return figures;
}

namespace {

int judge_again(const Experiment& experiment, const ExperimentOptions& options, std::FILE* out,
                std::FILE* err) {
  const std::string text = read(options.judge);
  const auto results = results_of(experiment, text);
  if (!results) {
    fmt::print(err, "weir bench {}: '{}': {}\n", options.bench, options.judge, results.error());
    return 2;
  }
  if (results->empty()) {
    fmt::print(err, "weir bench {}: '{}' has no lines, or cannot be read\n", options.bench, options.judge);
    return 2;
  }
  ExperimentOptions its = options;  // as the lines were measured
  Lines lines;
  for (const ExperimentResult& result : *results) lines.push_back(result.figures);
  its.scale = number_of(lines.front(), "scale");
  its.settle_s = number_of(lines.front(), "settle_s");
  its.measure_s = number_of(lines.front(), "measure_s");
  its.loss_free = is_set(lines.front(), "loss_free");
  its.output.command = text_of(lines.front(), "command");
  const std::string page = experiment_page(experiment, *results, its, conditions_of(lines));
  fmt::print(out, "{}", page);
  return 0;
}

// Measures all points of a figure, round after round.
class ExperimentRun {
 public:
  ExperimentRun(const Experiment& experiment, const ExperimentOptions& options, std::FILE* err)
      : experiment_(experiment), options_(options), err_(err), times_(times_of(experiment, options)) {}

  [[nodiscard]] Expected<Lines, std::string> measure(const ExperimentPoint& point, std::size_t number) {
    const ScratchFolder folder;
    if (conditions_.machine.empty()) conditions_ = conditions_now();
    RunConditions around;
    sample_others(around);
    auto result = measure_point(point, times_, options_, folder.path().string(), err_);
    if (!result) return Unexpected<std::string>(result.error());
    sample_others(around);
    conditions_.others = std::max(conditions_.others, around.others);
    conditions_.withheld = std::max(conditions_.withheld, around.withheld);
    result->figures[kOtherShare] = around.others;
    result->figures[kWithheldShare] = around.withheld;
    result->run = ++runs_[number].first;
    json::array& runs = runs_[number].second;
    json::object& figures = runs.emplace_back(json::object()).get_object();
    for (const auto& [key, value] : result->figures) {
      if (!value.is_array() && !value.is_object() && !key.starts_with('_'))
        figures[key] = value.is_double() ? json::value(four_digits(value.get_double())) : value;
    }
    results_.push_back(std::move(*result));
    Line line = line_of(experiment_, results_.back(), options_);
    line["command"] = options_.output.command;
    fmt::print(err_, "run {}: {}\n", results_.back().run, sentence(line));
    add_to(line, conditions_);
    line["runs"] = runs;
    return Lines{std::move(line)};
  }

  [[nodiscard]] std::string page(const std::string& left_out) const {
    return experiment_page(experiment_, results_, options_, conditions_, left_out);
  }

 private:
  const Experiment& experiment_;
  const ExperimentOptions& options_;
  std::FILE* err_;
  ExperimentTimes times_;
  RunConditions conditions_;
  std::vector<ExperimentResult> results_;
  std::map<std::size_t, std::pair<std::uint32_t, json::array>> runs_;  // by the point's number
};

// Removes the points with a kept window if none can be kept here. Returns the reason; empty: it can, or none
// asks.
std::string leave_out(std::vector<ExperimentPoint>& points) {
  const auto asks = [](const ExperimentPoint& point) { return point.cure.kept; };
  if (std::ranges::none_of(points, asks) || !lab::LabNetwork::refusal().empty()) return {};
  const auto window = run::StaticWindow::start(1);
  if (window) return {};
  const auto left = std::erase_if(points, asks);
  return fmt::format("{} points of a static window that losses do not reduce are left out: {}", left,
                     window.error());
}

// Returns the exit status of a request that is refused; 0: none.
int refusal_of(const Experiment& experiment, const ExperimentOptions& options, std::FILE* err) {
  if (options.loss_free && !has_loss_free_load(experiment)) {
    fmt::print(
        err,
        "weir bench {}: --loss-free needs slices that are requested at a rate: figure {} pushes them, or "
        "has flows beside an idle farm\n",
        options.bench, experiment.id);
    return 2;
  }
  return 0;
}

}  // namespace

int run_experiment(const std::vector<Experiment>& experiments, const ExperimentOptions& options,
                   std::FILE* out, std::FILE* err) {
  const auto found = std::ranges::find(experiments, options.figure, &Experiment::id);
  if (found == experiments.end()) {
    fmt::print(err, "weir bench {}: unknown figure '{}'\n", options.bench, options.figure);
    return 2;
  }
  if (const int refused = refusal_of(*found, options, err); refused != 0) return refused;
  const Experiment experiment = options.loss_free ? loss_free_of(*found) : *found;
  if (!options.judge.empty()) return judge_again(experiment, options, out, err);
  if (experiment.show == Show::bursts) return run_bursts(experiment, options, out, err);
  const double scale = scale_of(experiment, options);
  const ExperimentTimes times = times_of(experiment, options);
  auto points = expand(experiment, tcps_of(experiment, options), scale);
  for (ExperimentPoint& point : points) point.farm += fmt::format("-{}", ::getpid());  // beside other benches
  const std::string left_out = leave_out(points);
  if (!left_out.empty()) fmt::print(err, "weir bench {}: {}\n", options.bench, left_out);
  if (points.empty()) return 2;
  if (options.spinners) {
    for (ExperimentPoint& point : points) point.setting.spinners = std::thread::hardware_concurrency();
  }
  const auto runs = points.size() * options.rounds * (options.loss_free ? LossFreeSearch::kSteps : 1);
  const double seconds = times.settle_s + times.measure_s + kStartAndEndS;
  fmt::print(err, "{}: {}{} runs at scale {:g}, about {:.0f} min\n", experiment.title,
             options.loss_free ? "at most " : "", runs, scale,
             std::ceil(seconds * static_cast<double>(runs) / kSecondsPerMinute));
  ExperimentRun run(experiment, options, err);
  Figure figure;
  figure.bench = options.bench;
  figure.needs_lab = true;
  figure.rounds = options.rounds;
  auto& group = figure.groups.emplace_back();
  for (std::size_t number = 0; number < points.size(); ++number)
    group.push_back({fmt::format("{} at {:g}", label_of(points[number]), points[number].x),
                     [&, number] { return run.measure(points[number], number); }});
  figure.page = [&](const Lines&) { return run.page(left_out); };
  Output output = options.output;
  output.name = output_name(experiment, options);
  return run_figure(figure, output, out, err);
}

}  // namespace weir::bench
