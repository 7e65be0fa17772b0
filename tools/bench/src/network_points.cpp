// The points of a sweep, and the farm and the lab of each.
#include "units.hpp"
#include <weir/bench/network.hpp>
#include <weir/config/rate.hpp>
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

Line line_of(const NetworkPoint& point, const NetworkOptions& options, const NetworkRun& run,
             const metrics::ValueHistogram& latency_us, const std::string& arrivals) {
  Line line{{"bench", name_of(point.pattern)},
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
            {"rounds", 1},
            {"_label", describe(point)}};
  line.insert(run.line.begin(), run.line.end());
  line["took_longer"] = took_longer(latency_us);
  if (json::array points = arrivals_of(arrivals); !points.empty()) line["arrivals"] = std::move(points);
  return line;
}

}  // namespace weir::bench
