// Curves along an axis, distributions, arrivals: data and gnuplot scripts.
#include "settings.hpp"
#include "units.hpp"
#include <weir/bench/figures.hpp>
#include <weir/config/rate.hpp>
#include <weir/wire/frame.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>

namespace weir::bench {
namespace {

constexpr double kLogFrom = 20;  // an axis over more than this factor is logarithmic
constexpr double kLogMargin = 1.2;
constexpr double kMargin = 1.05;
constexpr double kLow = 0.05;  // where words are out of the curves' way
constexpr double kHigh = 0.93;
constexpr std::size_t kCurvesMax = 12;  // more cannot be told apart
constexpr double kShareLeast = 0.05;    // of slices, in per cent, at the bottom of distributions

// Where a slice is that waited for TCP's least retransmission timeout once.
constexpr const char* kTimeoutMark =
    "set arrow from 200, graph 0 to 200, graph 1 nohead dashtype 2 linecolor 'gray40'\n"
    "set label '200 ms' at 200, graph 0.96 offset 0.6,0 textcolor 'gray40'\n";

struct Row {
  double x = 0;
  NetworkRun run;
};

struct Curve {
  std::string label;
  std::vector<Row> rows;
};

// One curve per series; what has no place on the axis is a level from end to end.
std::vector<Curve> curves_of(const std::vector<NetworkResult>& results, const Axis& axis) {
  std::vector<Curve> curves;
  double first = 0;
  double last = 0;
  for (const NetworkResult& result : results) {
    const double x = axis.value(result.point);
    if (x > 0 && (first == 0 || x < first)) first = x;
    last = std::max(last, x);
  }
  for (const NetworkResult& result : results) {
    const std::string label = series_of(result.point, results, axis);
    auto curve =
        std::find_if(curves.begin(), curves.end(), [&](const Curve& one) { return one.label == label; });
    if (curve == curves.end()) curve = curves.insert(curves.end(), {label, {}});
    const double x = axis.value(result.point);
    const NetworkRun run = result.medians();
    if (x > 0) {
      curve->rows.push_back({x, run});
    } else {
      curve->rows = {{first, run}, {last, run}};
    }
  }
  for (Curve& curve : curves) {
    std::stable_sort(curve.rows.begin(), curve.rows.end(),
                     [](const Row& a, const Row& b) { return a.x < b.x; });
  }
  return curves;
}

// What every script begins with; `about` is the second line of the title.
std::string header(const Figure& figure, const std::string& about) {
  return fmt::format(
      "set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced\n"
      "set output '{}.svg'\nset tmargin 5\nset label \"{}\\n{}\" at screen 0.5, 0.96 center\nset grid\n"
      "set key outside right center\n",
      figure.name, figure.title, about);
}

// What all points have in common, in words.
std::string common(const std::vector<NetworkResult>& results, const NetworkOptions& options) {
  const bool incast = options.pattern == Pattern::incast;
  std::string text = incast ? "Incast to one DCM" : "All to all";
  for (const Setting& setting : settings()) {
    const std::string value = setting.text(results.front().point);
    if (!differs(setting, results) && !value.empty()) text += ", " + value;
  }
  return text + fmt::format("; port {}, buffer {}", options.rate, options.buffer);
}

void add_axis(const Axis& axis, const std::vector<Curve>& curves, std::string& script) {
  double least = 0;
  double most = 0;
  for (const Curve& curve : curves) {
    for (const Row& row : curve.rows) {
      if (least == 0 || row.x < least) least = row.x;
      most = std::max(most, row.x);
    }
  }
  if (least > 0 && most / least > kLogFrom) {
    script += fmt::format("set logscale x\nset xrange [{:g}:{:g}]\n", least / kLogMargin, most * kLogMargin);
  } else {
    script += fmt::format("set xrange [0:{:g}]\n", most * kMargin);
  }
  script += fmt::format("set xlabel '{}'\n", axis.label);
}

// Where the windows of all DCMs behind a port are as large as its buffer.
std::string buffer_mark(const Axis& axis, const std::vector<NetworkResult>& results,
                        const NetworkOptions& options, double height) {
  const auto buffer = config::parse_buffer(options.buffer);
  const double members = options.pattern == Pattern::incast ? 1 : options.dcms_per_host;
  const NetworkPoint& point = results.front().point;
  double unit = 0;
  if (axis.label == kWindowLabel) unit = kBytesPerKb;
  if (axis.label == kQuotaLabel && options.fragment_bytes.size() == 1) unit = point.fragment_bytes;
  if (unit == 0 || !buffer) return {};
  return fmt::format(
      "set arrow from {0:g}, graph 0 to {0:g}, graph 1 nohead dashtype 2 linecolor 'gray40'\n"
      "set label 'buffer of the port' at {0:g}, graph {1:g} right offset -0.6,0 textcolor 'gray40'\n",
      static_cast<double>(*buffer) / unit / members, height);
}

// Columns: x, share of theory in %, p50, p99, max in ms, serialisation in ms.
std::string curve_data(const std::vector<Curve>& curves) {
  std::string data = "# x, goodput in % of theory, p50 ms, p99 ms, max ms, serialisation ms; after 1 s\n";
  for (const Curve& curve : curves) {
    fmt::format_to(std::back_inserter(data), "# {}\n", curve.label);
    for (const Row& row : curve.rows) {
      const NetworkPart& part = row.run.after_1s;
      fmt::format_to(std::back_inserter(data), "{:g} {:.2f} {:.3f} {:.3f} {:.3f} {:.3f}\n", row.x,
                     kPercent * part.share_of_theory, part.p50_us / kUsPerMs, part.p99_us / kUsPerMs,
                     part.max_us / kUsPerMs, row.run.serialisation_us / kUsPerMs);
    }
    data += "\n\n";
  }
  return data;
}

std::string plotted(const std::vector<std::string>& parts) {
  std::string text = "plot ";
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : ", \\\n     ") + parts[i];
  return text + "\n";
}

Figure goodput_figure(const std::vector<NetworkResult>& results, const Axis& axis, const std::string& about,
                      const NetworkOptions& options) {
  const std::vector<Curve> curves = curves_of(results, axis);
  Figure figure{options.name + "-goodput", "Goodput", curve_data(curves), {}};
  figure.script = header(figure, about) + buffer_mark(axis, results, options, kLow) +
                  "set yrange [0:108]\nset ylabel 'goodput, % of theory'\n";
  add_axis(axis, curves, figure.script);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    parts.push_back(fmt::format(
        "'{}.dat' index {} using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title '{}'",
        figure.name, i, curves[i].label.empty() ? "goodput" : curves[i].label));
  }
  if (axis.label == kLoadLabel) {
    parts.emplace_back(
        "(x <= 100 ? x : 100) with lines dashtype 2 linecolor 'gray40' title 'all that is offered'");
  }
  figure.script += plotted(parts);
  return figure;
}

Figure latency_figure(const std::vector<NetworkResult>& results, const Axis& axis, const std::string& about,
                      const NetworkOptions& options) {
  const std::vector<Curve> curves = curves_of(results, axis);
  Figure figure{options.name + "-latency", "Latency of a slice", curve_data(curves), {}};
  figure.script = header(figure, about) + buffer_mark(axis, results, options, kHigh) +
                  "set logscale y\nset ylabel 'first request to last fragment, ms'\n";
  add_axis(axis, curves, figure.script);
  std::vector<std::string> parts;
  constexpr const char* kQuantiles[] = {"p50", "p99", "max"};
  for (std::size_t i = 0; i < curves.size(); ++i) {
    for (int q = 0; q < 3; ++q) {
      const bool named = q == 0 && !curves[i].label.empty();
      parts.push_back(fmt::format(
          "'{}.dat' index {} using 1:{} with linespoints linewidth 2 linecolor {} dashtype {} "
          "pointtype 7 pointsize 0.4 {}",
          figure.name, i, 3 + q, i + 1, q + 1, named ? "title '" + curves[i].label + "'" : "notitle"));
    }
  }
  for (int q = 0; q < 3; ++q) {
    parts.push_back(fmt::format("keyentry with lines linewidth 2 linecolor 'black' dashtype {} title '{}'",
                                q + 1, kQuantiles[q]));
  }
  parts.push_back(fmt::format(
      "'{}.dat' index 0 using 1:6 with lines linewidth 2 dashtype 4 linecolor 'gray40' title 'a slice alone'",
      figure.name));
  figure.script += plotted(parts);
  return figure;
}

std::string whole_label(const NetworkPoint& point, const std::vector<NetworkResult>& results) {
  const std::string label = series_of(point, results, {});
  return label.empty() ? point.shaper : label;
}

// The share of slices that took longer, bucket by bucket.
std::string distribution_data(const std::vector<NetworkResult>& results) {
  std::string data = "# latency ms, slices that took longer in %\n";
  for (const NetworkResult& result : results) {
    const metrics::EncodedHistogram latency = result.medians().latency_us.encode();
    double count = 0;
    for (const auto& bucket : latency.buckets) count += static_cast<double>(bucket.count);
    fmt::format_to(std::back_inserter(data), "# {}\n{:g} 100\n", whole_label(result.point, results),
                   std::max(1.0, static_cast<double>(latency.min)) / kUsPerMs);
    double longer = count;
    for (const auto& bucket : latency.buckets) {
      longer -= static_cast<double>(bucket.count);
      const double ms = static_cast<double>(metrics::Histogram::bucket_last(bucket.index)) / kUsPerMs;
      // The last step goes down to the edge of a logarithmic axis.
      fmt::format_to(std::back_inserter(data), "{:g} {:.4f}\n", ms,
                     std::max(kPercent * longer / count, kShareLeast / 2));
    }
    data += "\n\n";
  }
  return data;
}

Figure distribution_figure(const std::vector<NetworkResult>& results, const std::string& about,
                           const NetworkOptions& options) {
  Figure figure{options.name + "-distribution", "Distribution of latency", distribution_data(results), {}};
  figure.script =
      header(figure, about) + fmt::format("set logscale xy\nset yrange [{}:100]\n", kShareLeast) +
      kTimeoutMark +
      "set xlabel 'first request to last fragment, ms'\nset ylabel 'slices that took longer, %'\n";
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < results.size(); ++i) {
    parts.push_back(fmt::format("'{}.dat' index {} using 1:2 with steps linewidth 2 title '{}'", figure.name,
                                i, whole_label(results[i].point, results)));
  }
  figure.script += plotted(parts);
  return figure;
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

std::string arrival_data(const std::vector<NetworkResult>& results) {
  std::string data = "# ms since the slice's first request, kB so far\n";
  for (const NetworkResult& result : results) {
    fmt::format_to(std::back_inserter(data), "# {}\n0 0\n", whole_label(result.point, results));
    double sum = 0;
    for (const Arrival& arrival : slow_slice(result.medians().arrivals)) {
      sum += arrival.bytes;
      fmt::format_to(std::back_inserter(data), "{:.3f} {:.2f}\n", arrival.us / kUsPerMs, sum / kBytesPerKb);
    }
    data += "\n\n";
  }
  const double ms = results.front().medians().serialisation_us / kUsPerMs;
  const NetworkPoint& point = results.front().point;
  const double kb = static_cast<double>(point.readouts) * point.fragments *
                    static_cast<double>(point.fragment_bytes + wire::kHeaderBytes) / kBytesPerKb;
  return data + fmt::format("# the port's rate\n0 0\n{:.3f} {:.2f}\n", ms, kb);
}

Figure arrival_figure(const std::vector<NetworkResult>& results, const std::string& about,
                      const NetworkOptions& options) {
  Figure figure{options.name + "-arrivals", "One slice's bytes over time", arrival_data(results), {}};
  figure.script = header(figure, about) +
                  "set yrange [0:*]\nset xrange [0:*]\n"
                  "set xlabel 'time since the first request of a slow slice (9 of 10 are faster), ms'\n"
                  "set ylabel 'arrived, kB'\n";
  std::vector<std::string> parts;
  for (std::size_t i = 0; i <= results.size(); ++i) {
    const bool ideal = i == results.size();
    parts.push_back(fmt::format("'{}.dat' index {} using 1:2 with {} linewidth 2{} title '{}'", figure.name,
                                i, ideal ? "lines" : "steps", ideal ? " dashtype 2 linecolor 'gray40'" : "",
                                ideal ? "a slice alone" : whole_label(results[i].point, results)));
  }
  figure.script += plotted(parts);
  return figure;
}

}  // namespace

std::vector<Figure> figures_of(const std::vector<NetworkResult>& results, const NetworkOptions& options) {
  std::vector<Figure> figures;
  if (results.empty()) return figures;
  const std::string about = common(results, options);
  const Axis axis = axis_of(results);
  if (axis.value != nullptr) {
    figures.push_back(goodput_figure(results, axis, about, options));
    figures.push_back(latency_figure(results, axis, about, options));
  }
  if (results.size() > kCurvesMax) return figures;
  figures.push_back(distribution_figure(results, about, options));
  const bool traced = std::all_of(results.begin(), results.end(), [](const NetworkResult& result) {
    return !result.runs.empty() && !slow_slice(result.runs.back().arrivals).empty();
  });
  if (traced) figures.push_back(arrival_figure(results, about, options));
  return figures;
}

}  // namespace weir::bench
