// Runs of an experiment, one after the other, each in a virtual network of its own.
#include "antares_bursts.hpp"
#include "arrival_delays.hpp"
#include "lab_farm.hpp"
#include "output.hpp"
#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/base/time.hpp>
#include <weir/bench/experiment.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/lab/network_trace.hpp>
#include <weir/lab/plan.hpp>
#include <weir/run/lab_network.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

namespace weir::bench {
namespace {

constexpr double kStartAndEndS = 5;  // of a run's processes, roughly
constexpr double kSecondsPerMinute = 60;
constexpr std::uint64_t kSlowUs = 200'000;  // TCP's shortest retransmission timeout

constexpr std::size_t kDelaysMax = 1000;  // points of a figure

struct Files {
  std::string farm;
  std::string lab;
};

// Returns theory's goodput for the point, or the reason why its farm or lab is wrong.
Expected<run_record::Theory, std::string> theory_of_point(const ExperimentPoint& point, const Files& files) {
  const auto farm = config::load_farm(files.farm);
  if (!farm) return Unexpected<std::string>(config::to_text(farm.error()));
  const auto plan = config::expand(farm->farm, farm->locations);
  if (!plan) return Unexpected<std::string>(config::to_text(plan.error()));
  const auto lab_file = config::load_lab(files.lab);
  if (!lab_file) return Unexpected<std::string>(config::to_text(lab_file.error()));
  const auto lab = lab::plan_lab(*lab_file, &*plan);
  if (!lab) return Unexpected<std::string>(config::to_text(lab.error()));
  const double fragments = point.setting.readouts * point.setting.sources;
  return run_record::theory_of(run::network_of(*lab, *plan),
                               {fragments * point.setting.fragment_bytes, fragments});
}

void take_percentiles(const run_record::Percentiles& percentiles, ExperimentFigures& figures) {
  figures.mean_ms = percentiles.mean / kUsPerMs;
  figures.sigma_ms = percentiles.sigma / kUsPerMs;
  figures.p50_ms = static_cast<double>(percentiles.p50) / kUsPerMs;
  figures.p99_ms = static_cast<double>(percentiles.p99) / kUsPerMs;
  figures.max_ms = static_cast<double>(percentiles.max) / kUsPerMs;
}

void take_latency(const metrics::ValueHistogram& latency, ExperimentFigures& figures) {
  std::map<std::uint32_t, std::uint64_t> bins;
  std::uint64_t slow = 0;
  for (const auto& bucket : latency.encode().buckets) {
    const std::uint64_t first = metrics::ValueHistogram::bucket_first(bucket.index);
    const std::uint64_t middle = (first + metrics::ValueHistogram::bucket_last(bucket.index)) / 2;
    bins[static_cast<std::uint32_t>(middle / static_cast<std::uint64_t>(kUsPerMs))] += bucket.count;
    if (middle >= kSlowUs) slow += bucket.count;
  }
  figures.histogram.assign(bins.begin(), bins.end());
  if (latency.count() > 0) figures.slow = static_cast<double>(slow) / static_cast<double>(latency.count());
  take_percentiles(run_record::percentiles_of(latency), figures);
  figures.min_ms = static_cast<double>(latency.min()) / kUsPerMs;
}

// The readouts' own ports are named "r0>switch".
void take_sources(const std::vector<reports::PortReport>& ports, ExperimentFigures& figures) {
  std::optional<double> least;
  for (const reports::PortReport& port : ports) {
    const bool own = port.name.size() > 1 && port.name[0] == 'r' && std::isdigit(port.name[1]) != 0;
    if (!own) continue;
    least = std::min(least.value_or(port.use), port.use);
    figures.source_most = std::max(figures.source_most, port.use);
  }
  figures.source_least = least.value_or(0);
}

void take_pauses(const run_record::Summary& summary, ExperimentFigures& figures) {
  double most_s = 0;
  for (const reports::PortReport& port : summary.ports) {
    figures.pauses += static_cast<double>(port.pauses);
    if (port.paused_s <= most_s) continue;
    most_s = port.paused_s;
    figures.held_at = port.name;
  }
  if (summary.duration_s > 0) figures.held = std::min(1.0, most_s / summary.duration_s);
}

// `push`: latencies leave out the readouts' slots, as ANTARES' delays do.
ExperimentFigures figures_of(const run_record::Summary& summary, double offered_hz, bool push) {
  ExperimentFigures figures;
  const run_record::SteadySummary& after = *summary.after_1s;
  figures.offered_hz = offered_hz;
  figures.sustained_hz = after.slices_per_s;
  figures.goodput_bytes_per_s = after.goodput_bytes_per_s;
  figures.theory_bytes_per_s = summary.theory.thesis_goodput_bytes_per_s;
  figures.stream_theory_bytes_per_s = summary.theory.goodput_bytes_per_s;
  figures.serialisation_ms = summary.theory.serialisation_us / kUsPerMs;
  if (push) {
    take_percentiles(after.build_latency_us, figures);
  } else {
    take_latency(after.latency, figures);
  }
  std::uint64_t most = 0;
  for (const reports::PortReport& port : summary.ports) {
    figures.drops += static_cast<double>(port.drops_after_1s);
    if (port.drops_after_1s <= most) continue;
    most = port.drops_after_1s;
    figures.drops_at = port.name;
  }
  take_sources(summary.ports, figures);
  take_pauses(summary, figures);
  for (const reports::DisturbedHost& host : summary.disturbed)
    figures.bit_error_losses += static_cast<double>(host.frames_lost);
  figures.knows_drops = summary.lab.has_value();
  if (summary.lab) figures.other_drops = static_cast<double>(summary.lab->machine_drops);
  if (summary.lab && summary.lab->relay) {
    figures.other_drops += static_cast<double>(summary.lab->relay->dropped);
    figures.jitter_ms = static_cast<double>(summary.lab->relay->late_p99_us) / kUsPerMs;
    figures.inexact_delay = summary.lab->relay->is_inexact();
  }
  if (after.seconds > 0) figures.retransmits_per_s = static_cast<double>(after.retransmits) / after.seconds;
  return figures;
}

Series read_delays(const ExperimentPoint& point, const std::string& out) {
  std::vector<std::string> files;
  for (std::uint32_t dcm = 0; dcm < point.setting.dcms; ++dcm)
    files.push_back(read(fmt::format("{}/run-000001-dcm-{}-arrivals.csv", out, dcm)));
  return delays_of(files, kDelaysMax);
}

Expected<ExperimentFigures, std::string> measure(const ExperimentPoint& point, const ExperimentTimes& times,
                                                 const std::string& folder) {
  const Files files{folder + "/farm.yaml", folder + "/lab.yaml"};
  double rate_hz = point.setting.rate_hz;
  const auto write_files = [&] {
    return write(files.farm, farm_text(point, times, rate_hz)) && write(files.lab, lab_text(point));
  };
  if (!write_files()) return Unexpected<std::string>("cannot write into " + folder);
  const auto theory = theory_of_point(point, files);
  if (!theory) return Unexpected<std::string>(theory.error());
  if (point.setting.load > 0) {
    const double slice_bytes = point.setting.readouts * point.setting.sources * point.setting.fragment_bytes;
    rate_hz = point.setting.load * theory->thesis_goodput_bytes_per_s / slice_bytes;
    if (!write_files()) return Unexpected<std::string>("cannot write into " + folder);
  }
  run::RunOptions run;
  run.farm.farm_file = files.farm;
  run.lab_file = files.lab;
  run.out = folder + "/out";
  run.log_level = "error";
  run.quiet = true;
  run.settle_s = times.settle_s;
  if (needs_trace(point.show)) run.trace_network = folder + "/trace.jsonl";
  const MachineLoad load;
  const auto summary = summary_of_lab_run(run);
  if (!summary) return Unexpected<std::string>(summary.error());
  if (!summary->after_1s) return Unexpected<std::string>("no process reported after the settling time");
  ExperimentFigures figures = figures_of(*summary, rate_hz, point.setting.push);
  figures.cpu = load.cpu_s_per_s();
  if (point.show == Show::delays) figures.delays = read_delays(point, run.out);
  if (run.trace_network.empty()) return figures;
  const auto trace = lab::NetworkTrace::from_lines(read(run.trace_network));
  if (!trace) return Unexpected<std::string>(trace.error());
  const double slice_bytes = point.setting.readouts * point.setting.sources * point.setting.fragment_bytes;
  figures.trace = view_of(*trace, "d0", times.settle_s, slice_bytes);
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
    fmt::print(err,
               "  {}: load {:.1f} %, goodput {:.1f} % of theory, {:.0f} drops, {:.1f} retransmissions/s\n",
               label_of(point), kPercent * point.setting.load, kPercent * figures->of(Quantity::share),
               figures->drops + figures->other_drops, figures->retransmits_per_s);
    if (search.measured(figures->is_loss_free())) best = ExperimentResult{point, std::move(*figures)};
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
  return ExperimentResult{point, std::move(*figures)};
}

std::vector<Tcp> tcps_of(const std::string& name) {
  if (name == "old") return {Tcp::old_tcp};
  if (name == "new") return {Tcp::new_tcp};
  return {Tcp::old_tcp, Tcp::new_tcp};
}

void tell(const ExperimentPoint& point, const ExperimentFigures& figures, std::FILE* err) {
  fmt::print(err,
             "{} at {:g}: {:.1f} of {:.1f} slices/s, {:.1f} % of theory, latency mean {:.1f} ms sigma {:.1f} "
             "p99 {:.1f}, {:.0f} drops{}{}\n",
             label_of(point), point.x, figures.sustained_hz, figures.offered_hz,
             kPercent * figures.of(Quantity::share), figures.mean_ms, figures.sigma_ms, figures.p99_ms,
             figures.drops, figures.drops_at.empty() ? "" : ", most at " + figures.drops_at,
             point.setting.delay_ms > 0 ? fmt::format(", jitter {:.2f} ms", figures.jitter_ms) : "");
}

int write_results(const Experiment& experiment, const std::vector<ExperimentResult>& results,
                  const ExperimentOptions& options, std::FILE* err) {
  std::string lines;
  for (const ExperimentResult& result : results) lines += experiment_line(experiment, result, options) + "\n";
  if (!options.json.empty() && !write(options.json, lines)) {
    fmt::print(err, "weir bench: cannot write '{}'\n", options.json);
    return 1;
  }
  const std::string table = experiment_table(experiment, results, options, machine());
  fmt::print(err, "\n{}", table);
  if (options.out.empty()) return 0;
  return write_output(options.out, output_name(experiment, options), lines, table, err);
}

}  // namespace

int run_experiment(const std::vector<Experiment>& experiments, const ExperimentOptions& options,
                   std::FILE* out, std::FILE* err) {
  const auto found = std::ranges::find(experiments, options.figure, &Experiment::id);
  if (found == experiments.end()) {
    fmt::print(err, "weir bench {}: unknown figure '{}'\n", options.bench, options.figure);
    return 2;
  }
  if (!options.out.empty() && !make_folder(options.out, err)) return 1;
  if (options.loss_free && !has_loss_free_load(*found)) {
    fmt::print(
        err,
        "weir bench {}: --loss-free needs slices that are requested at a rate: figure {} pushes them, or "
        "has flows beside an idle farm\n",
        options.bench, found->id);
    return 2;
  }
  const Experiment experiment = options.loss_free ? loss_free_of(*found) : *found;
  const double scale = scale_of(experiment, options);
  const ExperimentTimes times = times_of(experiment, options);
  if (experiment.show == Show::bursts) return run_bursts(experiment, options, out, err);
  const auto points = expand(experiment, tcps_of(options.tcp), scale);
  const auto runs = points.size() * (options.loss_free ? LossFreeSearch::kSteps : 1);
  const double seconds = times.settle_s + times.measure_s + kStartAndEndS;
  fmt::print(err, "{}: {}{} runs at scale {:g}, about {:.0f} min\n", experiment.title,
             options.loss_free ? "at most " : "", runs, scale,
             std::ceil(seconds * static_cast<double>(runs) / kSecondsPerMinute));
  const ScratchFolder folder;
  std::vector<ExperimentResult> results;
  bool failed = false;
  for (const ExperimentPoint& point : points) {
    auto measured = measure_point(point, times, options, folder.path().string(), err);
    if (!measured) {
      // A failed run costs its point; a signal ends the command.
      failed = true;
      fmt::print(err, "weir bench {}: {} at {:g}: {}\n", options.bench, label_of(point), point.x,
                 measured.error());
      if (measured.error().starts_with("SIG")) break;
      continue;
    }
    const ExperimentResult& result = results.emplace_back(std::move(*measured));
    tell(result.point, result.figures, err);
    if (!options.json.empty()) continue;
    fmt::print(out, "{}\n", experiment_line(experiment, result, options));
    std::fflush(out);
  }
  const int written = results.empty() ? 1 : write_results(experiment, results, options, err);
  return failed ? 1 : written;
}

}  // namespace weir::bench
