#include "plain_farm.hpp"
#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/base/time.hpp>
#include <weir/bench/ceiling.hpp>
#include <weir/bench/latency.hpp>

#include <fmt/format.h>

namespace weir::bench {
namespace {

std::string farm_text(const LatencyPoint& point, double seconds, const std::string& folder) {
  return fmt::format(
      "farm: bench-latency\n"
      "run: {{out: '{}', duration_s: {}}}\n"
      "trigger: {{mode: rate, rate_hz: {}}}\n"
      "source: {{kind: dummy, distribution: fixed, size_bytes: {}, size_bytes_max: {}}}\n"
      "readout: {{count: {}, sources_per_readout: {}}}\n"
      "dcm: {{count: 1}}\n"
      "filter: {{plugin: accept-all}}\n"
      "writer: {{count: 0}}\n",
      folder, seconds, point.rate_hz, point.fragment_bytes, point.fragment_bytes, point.readouts,
      point.sources);
}

Line line_of(const run_record::Percentiles& times) {
  return {{"p50", times.p50},
          {"p99", times.p99},
          {"p999", times.p999},
          {"max", times.max},
          {"mean", four_digits(times.mean)}};
}

}  // namespace

Expected<LatencyTimes, std::string> measure_latency(const LatencyPoint& point, double seconds,
                                                    const std::string& folder) {
  const auto ran = run_plain_farm(farm_text(point, seconds, folder), folder);
  if (!ran) return Unexpected<std::string>(ran.error());
  const run_record::Summary summary = run_record::summarize(*ran->account);
  LatencyTimes times{summary.slices_per_s, summary.latency_us, summary.build_latency_us, 0};
  if (times.request_us.count == 0) return Unexpected<std::string>("no slice was built");
  double cpu_s = 0;
  for (const run_record::ProcessRecord& process : ran->processes) cpu_s += process.end.cpu_s;
  times.cpu_us_per_slice = 1e6 * cpu_s / static_cast<double>(times.request_us.count);
  return times;
}

Line line_of(const LatencyPoint& point, const LatencyTimes& farm, double exchange_us) {
  return {{"bench", "latency"},
          {"rate_hz", point.rate_hz},
          {"readouts", point.readouts},
          {"sources_per_readout", point.sources},
          {"fragment_bytes", point.fragment_bytes},
          {"rounds", 1},
          {"slices_per_s", four_digits(farm.slices_per_s)},
          {"latency_us", line_of(farm.request_us)},
          {"build_latency_us", line_of(farm.build_us)},
          {"cpu_us_per_slice", four_digits(farm.cpu_us_per_slice)},
          {"exchange_us", four_digits(exchange_us)},
          {"_label", fmt::format("{:g} Hz", point.rate_hz)}};
}

int run_latency(const LatencyOptions& options, std::FILE* out, std::FILE* err) {
  Figure figure;
  figure.bench = "latency";
  figure.needs_all = true;
  figure.rounds = options.rounds;
  for (const double rate_hz : options.rates_hz) {
    const LatencyPoint point{rate_hz, options.readouts, options.sources, options.fragment_bytes};
    const auto measure = [&options, point]() -> Expected<Lines, std::string> {
      const ScratchFolder folder;
      const auto farm = measure_latency(point, options.seconds, folder.path().string());
      if (!farm) return Unexpected<std::string>("the farm: " + farm.error());
      CeilingSettings settings;
      settings.readouts = point.readouts;
      settings.fragment_bytes = point.fragment_bytes * point.sources;
      settings.slices_in_flight = 1;
      settings.seconds = options.seconds / 2;
      const auto bare = measure_ceiling(settings);
      if (!bare) return Unexpected<std::string>("the bare exchange: " + bare.error());
      return Lines{line_of(point, *farm, 1e6 * point.readouts / bare->fragments_per_s)};
    };
    figure.groups.push_back({{fmt::format("{:g} Hz", rate_hz), measure}});
  }
  figure.sentence = [](const Line& line) {
    return fmt::format(
        "{}: {:.4g} slices/s; from assignment to slice {:.0f} us (median), {:.0f} us (99 %); from the first "
        "request on {:.0f} and {:.0f} us; bare exchange {:.0f} us",
        text_of(line, "_label"), number_of(line, "slices_per_s"), number_of(line, "build_latency_us.p50"),
        number_of(line, "build_latency_us.p99"), number_of(line, "latency_us.p50"),
        number_of(line, "latency_us.p99"), number_of(line, "exchange_us"));
  };
  return run_figure(figure, {}, out, err);
}

}  // namespace weir::bench
