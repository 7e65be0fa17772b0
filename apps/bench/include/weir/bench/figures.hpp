#pragma once

#include <weir/bench/network.hpp>

#include <string>
#include <vector>

// Tables and plots of a sweep, as text: data for gnuplot, its script, Markdown. Pure.
namespace weir::bench {

// What is drawn from left to right: the first setting that differs among the points.
struct Axis {
  std::string label;  // with its unit; empty: nothing differs
  double (*value)(const NetworkPoint&) = nullptr;
};
[[nodiscard]] Axis axis_of(const std::vector<NetworkResult>& results);

// What tells a point from the others beside its place on the axis: "byte-credits, bbr".
[[nodiscard]] std::string series_of(const NetworkPoint& point, const std::vector<NetworkResult>& results,
                                    const Axis& axis);

struct Figure {
  std::string name;  // "incast-goodput": of NAME.dat, NAME.gp and NAME.svg
  std::string title;
  std::string data;    // blocks of lines, two empty lines between
  std::string script;  // for gnuplot, in the folder of the data
};

// Goodput and latency along the axis, the distribution of latencies, and with traces the arrivals of one
// slice. A figure for which there is no data is left out.
[[nodiscard]] std::vector<Figure> figures_of(const std::vector<NetworkResult>& results,
                                             const NetworkOptions& options);

[[nodiscard]] std::string table_of(const std::vector<NetworkResult>& results, const NetworkOptions& options,
                                   const std::vector<Figure>& figures, const std::string& machine);

}  // namespace weir::bench
