// The points of a sweep, and the farm and the lab of each.
#include "units.hpp"
#include <weir/bench/loopback.hpp>
#include <weir/bench/network.hpp>
#include <weir/config/rate.hpp>
#include <weir/run_record/json.hpp>
#include <weir/shaping/theory.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <sstream>
#include <utility>

namespace weir::bench {
namespace {

namespace json = boost::json;

// One point for each window of the shaper; one point if it has none.
std::vector<NetworkPoint> with_windows(NetworkPoint point, const NetworkOptions& options) {
  std::vector<NetworkPoint> points;
  if (point.shaper == "fragment-credits") {
    for (const std::uint32_t window : options.window_fragments) {
      point.window_fragments = window;
      points.push_back(point);
    }
  } else if (point.shaper == "byte-credits" || point.shaper == "diatcp") {
    for (const std::uint64_t window : options.window_bytes) {
      point.window_bytes = window;
      points.push_back(point);
    }
  } else {
    points.push_back(point);
  }
  return points;
}

json::object part_of(const NetworkPart& part) {
  return {{"goodput_bytes_per_s", four_digits(part.goodput_bytes_per_s)},
          {"share_of_theory", four_digits(part.share_of_theory)},
          {"slices_per_s", four_digits(part.slices_per_s)},
          {"p50_us", four_digits(part.p50_us)},
          {"p90_us", four_digits(part.p90_us)},
          {"p99_us", four_digits(part.p99_us)},
          {"p999_us", four_digits(part.p999_us)},
          {"max_us", four_digits(part.max_us)},
          {"retransmits_per_s", four_digits(part.retransmits_per_s)},
          {"port_drops", four_digits(part.port_drops)}};
}

// A DCM's share of its port's capacity.
double pace_of(const NetworkPoint& point, const NetworkOptions& options) {
  const shaping::EthernetLink port{static_cast<double>(config::parse_rate(options.rate).value_or(0))};
  const double members = point.pattern == Pattern::incast ? 1 : options.dcms_per_host;
  return options.pace / members * shaping::stream_goodput(port, 1, 0);
}

// [ms, share of slices that took longer in %], down to none: a new step for each decrease by a fifth.
json::array took_longer(const metrics::ValueHistogram& latency_us) {
  constexpr double kStep = 0.8;
  const metrics::EncodedHistogram latency = latency_us.encode();
  json::array steps;
  if (latency.buckets.empty()) return steps;
  const auto add = [&steps](double us, double share) {
    steps.push_back({four_digits(us / kUsPerMs), four_digits(share)});
  };
  add(static_cast<double>(latency.min), kPercent);
  double count = 0;
  for (const auto& bucket : latency.buckets) count += static_cast<double>(bucket.count);
  double longer = count;
  double told = kPercent;
  for (const auto& bucket : latency.buckets) {
    longer -= static_cast<double>(bucket.count);
    const double share = kPercent * longer / count;
    if (share > kStep * told) continue;
    told = share;
    add(static_cast<double>(metrics::ValueHistogram::bucket_last(bucket.index)), share);
  }
  return steps;
}

struct Arrival {
  double us = 0;
  double bytes = 0;
};

// The arrivals of a slow slice: nine of ten took less time.
std::vector<Arrival> slow_slice(const std::string& csv) {
  std::map<std::string, std::vector<Arrival>> slices;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::string slice;
    std::string readout;
    Arrival arrival;
    char comma = 0;
    std::getline(cells, slice, ',');
    std::getline(cells, readout, ',');
    if (cells >> arrival.us >> comma >> arrival.bytes) slices[slice].push_back(arrival);
  }
  std::vector<std::vector<Arrival>> all;
  for (auto& [slice, arrivals] : slices) all.push_back(std::move(arrivals));
  if (all.empty()) return {};
  const auto slow = all.begin() + static_cast<std::ptrdiff_t>(all.size() * 9 / 10);
  std::nth_element(all.begin(), slow, all.end(),
                   [](const auto& a, const auto& b) { return a.back().us < b.back().us; });
  return *slow;
}

// [ms since the slice's first request, kB so far]; a selection if there are many.
json::array arrivals_of(const std::string& csv) {
  constexpr std::size_t kPointsMax = 500;
  const std::vector<Arrival> arrivals = slow_slice(csv);
  const std::size_t every = 1 + arrivals.size() / kPointsMax;
  json::array points;
  double sum = 0;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const Arrival& arrival = arrivals[i];
    sum += arrival.bytes;
    if (i % every != 0 && i + 1 < arrivals.size()) continue;
    points.push_back({four_digits(arrival.us / kUsPerMs), four_digits(sum / kBytesPerKb)});
  }
  return points;
}

const char* name_of(Pattern pattern) { return pattern == Pattern::incast ? "incast" : "all-to-all"; }

}  // namespace

std::vector<NetworkPoint> expand(const NetworkOptions& options) {
  std::vector<NetworkPoint> points;
  NetworkPoint point;
  point.pattern = options.pattern;
  for (const std::string& shaper : options.shapers) {
    point.shaper = shaper;
    for (const std::string& congestion : options.congestion) {
      point.congestion = congestion;
      for (const std::uint32_t segments : options.window_segments) {
        point.window_segments = segments;
        for (const std::uint32_t readouts : options.readouts) {
          point.readouts = readouts;
          point.dcms = options.pattern == Pattern::incast ? 1 : readouts * options.dcms_per_host;
          for (const std::uint32_t bytes : options.fragment_bytes) {
            point.fragment_bytes = bytes;
            for (const std::uint32_t fragments : options.fragments) {
              point.fragments = fragments;
              for (const double load : options.loads) {
                point.load = load;
                const auto windows = with_windows(point, options);
                points.insert(points.end(), windows.begin(), windows.end());
              }
            }
          }
        }
      }
    }
  }
  return points;
}

std::string describe(const NetworkPoint& point) {
  std::string text = fmt::format("{}, {} readouts x {} x {} B, {} DCM{}, {}", name_of(point.pattern),
                                 point.readouts, point.fragments, point.fragment_bytes, point.dcms,
                                 point.dcms == 1 ? "" : "s", point.shaper);
  if (point.window_bytes > 0) text += fmt::format(" of {} B", point.window_bytes);
  if (point.window_fragments > 0) text += fmt::format(" of {} fragments", point.window_fragments);
  text += ", " + point.congestion;
  if (point.window_segments > 0) text += fmt::format(" fixed at {} segments", point.window_segments);
  if (point.load > 0) text += fmt::format(", load {:g}", point.load);
  return text;
}

std::string farm_text(const NetworkPoint& point, const NetworkOptions& options, double trigger_hz) {
  const std::uint64_t slice_bytes = std::uint64_t{point.readouts} * point.fragments * point.fragment_bytes;
  const std::uint64_t in_flight = std::uint64_t{options.credits} * point.dcms;
  const std::uint64_t dcm_bytes = std::max(kBufferBytesMin, 4 * options.credits * std::bit_ceil(slice_bytes));
  const std::uint64_t readout_bytes =
      std::max(kBufferBytesMin, 4 * in_flight * point.fragments * point.fragment_bytes);
  std::string trigger = "{mode: max, first_slice: 1}";
  if (trigger_hz > 0) trigger = fmt::format("{{mode: rate, rate_hz: {}, first_slice: 1}}", trigger_hz);
  std::string window;
  if (point.window_bytes > 0) window = fmt::format(", window_bytes: {}", point.window_bytes);
  if (point.window_fragments > 0) window = fmt::format(", window_fragments: {}", point.window_fragments);
  if (point.shaper == "paced") window = fmt::format(", pace_bytes_per_s: {:.0f}", pace_of(point, options));
  return fmt::format(
      "farm: bench-{}\n"
      "run: {{duration_s: {}, restart: never}}\n"
      "network: {{congestion_control: {}}}\n"
      "trigger: {}\n"
      "supervisor: {{in_flight_max: {}, pending_max: {}, status_interval_ms: 100}}\n"
      "source: {{kind: dummy, distribution: fixed, size_bytes: {}, size_bytes_max: {}}}\n"
      "readout: {{count: {}, sources_per_readout: {}, buffer_bytes: {}}}\n"
      "dcm: {{count: {}, credits: {}, slices_max: {}, buffer_bytes: {}, fragment_bytes_max: {}, deadline_ms: "
      "5000, trace_slices: {}, shaper: {}{}}}\n"
      "filter: {{plugin: prescale, parameters: {{n: 4294967295}}}}\n"  // all are rejected
      "writer: {{count: 0}}\n",
      name_of(point.pattern), options.seconds, point.congestion, trigger, in_flight, in_flight,
      point.fragment_bytes, point.fragment_bytes, point.readouts, point.fragments, readout_bytes, point.dcms,
      options.credits, 4 * options.credits, dcm_bytes, std::max(point.fragment_bytes, 4096U), options.trace,
      point.shaper, window);
}

std::string lab_text(const NetworkPoint& point, const NetworkOptions& options) {
  std::string text = fmt::format("lab: bench\ntopology: star\nport_rate: {}\nport_buffer: {}\n", options.rate,
                                 options.buffer);
  if (point.pattern == Pattern::all_to_all) {
    text += fmt::format("host_count: {}\nplacement: together\nhost_rate: {}\n", point.readouts, options.rate);
  }
  if (point.window_segments > 0) text += fmt::format("window_segments: {}\n", point.window_segments);
  return text;
}

NetworkRun NetworkResult::medians() const {
  NetworkRun all;
  const auto of = [&](auto value) {
    std::vector<double> values;
    for (const NetworkRun& run : runs) values.push_back(value(run));
    return median(std::move(values));
  };
  for (double NetworkPart::*figure :
       {&NetworkPart::goodput_bytes_per_s, &NetworkPart::share_of_theory, &NetworkPart::slices_per_s,
        &NetworkPart::p50_us, &NetworkPart::p90_us, &NetworkPart::p99_us, &NetworkPart::p999_us,
        &NetworkPart::max_us, &NetworkPart::retransmits_per_s, &NetworkPart::port_drops}) {
    all.whole.*figure = of([&](const NetworkRun& run) { return run.whole.*figure; });
    all.after_1s.*figure = of([&](const NetworkRun& run) { return run.after_1s.*figure; });
  }
  for (double NetworkRun::*figure :
       {&NetworkRun::theory_bytes_per_s, &NetworkRun::serialisation_us, &NetworkRun::dcm_share_min,
        &NetworkRun::dcm_share_max, &NetworkRun::machine_drops, &NetworkRun::jitter_us,
        &NetworkRun::cpu_s_per_s, &NetworkRun::machine_cpu_s_per_s}) {
    all.*figure = of([&](const NetworkRun& run) { return run.*figure; });
  }
  for (const NetworkRun& run : runs) all.latency_us.merge(run.latency_us);
  if (!runs.empty()) all.arrivals = runs.back().arrivals;
  return all;
}

std::string to_json_line(const NetworkResult& result, const NetworkOptions& options) {
  const NetworkPoint& point = result.point;
  const NetworkRun run = result.medians();
  const double unit = run.serialisation_us > 0 ? run.serialisation_us : 1;
  json::object line{{"bench", name_of(point.pattern)},
                    {"shaper", point.shaper},
                    {"window_bytes", point.window_bytes},
                    {"window_fragments", point.window_fragments},
                    {"window_segments", point.window_segments},
                    {"congestion_control", point.congestion},
                    {"fragment_bytes", point.fragment_bytes},
                    {"fragments_per_readout", point.fragments},
                    {"readouts", point.readouts},
                    {"dcms", point.dcms},
                    {"offered_share_of_theory", point.load},
                    {"port_rate", options.rate},
                    {"port_buffer", options.buffer},
                    {"seconds", options.seconds},
                    {"rounds", result.runs.size()},
                    {"theoretical_goodput_bytes_per_s", four_digits(run.theory_bytes_per_s)},
                    {"serialisation_us", four_digits(run.serialisation_us)},
                    {"whole", part_of(run.whole)},
                    {"after_1s", part_of(run.after_1s)},
                    {"p50_over_serialisation", four_digits(run.after_1s.p50_us / unit)},
                    {"p99_over_serialisation", four_digits(run.after_1s.p99_us / unit)},
                    {"max_over_serialisation", four_digits(run.after_1s.max_us / unit)},
                    {"dcm_share_min", four_digits(run.dcm_share_min)},
                    {"dcm_share_max", four_digits(run.dcm_share_max)},
                    {"machine_drops", four_digits(run.machine_drops)},
                    {"cpu_s_per_s", four_digits(run.cpu_s_per_s)},
                    {"machine_cpu_s_per_s", four_digits(run.machine_cpu_s_per_s)},
                    {"took_longer", took_longer(run.latency_us)}};
  if (json::array arrivals = arrivals_of(run.arrivals); !arrivals.empty())
    line["arrivals"] = std::move(arrivals);
  return run_record::one_line(line);
}

}  // namespace weir::bench
