#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/figure.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// `weir bench rcnp`: figures of the RCNP emulation of ATLAS' sequential option
// (rcnp-atlas-sequential-option-emulation, sections V and VI), with whole farms on this machine.
namespace weir::bench {

// P(T > us) of a time T.
struct TimeAbove {
  double us = 0;
  double share = 0;
};

// Where survivors of the steps are built whole and processed once more.
enum class RcnpBuilding : std::uint8_t {
  nowhere,
  same_farm,   // in the DCM that selects
  other_group  // in as many DCMs of a second group, to which they are forwarded
};

// One farm of a figure.
struct RcnpPoint {
  std::string label;
  double x = 0;  // sources, or steps
  std::uint32_t readouts = 11;
  std::uint32_t dcms = 11;
  std::uint32_t sources_per_readout = 1;
  std::uint32_t steps = 0;  // 0: all sources at the beginning
  std::uint32_t sources_per_step = 4;
  double microseconds = 100;  // CPU time of a step
  bool half_load = false;     // at half of the farm's maximum rate; otherwise as fast as possible
  bool rate_of_last = false;  // at the rate of the previous point
  double reject = 0;          // by each step
  RcnpBuilding building = RcnpBuilding::nowhere;
  std::string policy =
      {};  // figure 10a: 5 destinations with one processor and 6 with three, under this policy
  double paper_mean_ms = 0;  // the paper's mean T_dec; 0: not given
  double paper_cpu_ms = 0;   // the paper's T_dst; 0: not given
};

struct RcnpFigure {
  std::string id;     // "5", "sources", "steps", "10a", "table1"
  std::string title;  // as in the paper
  std::string x;      // meaning of RcnpPoint::x; empty: points have labels
  std::vector<RcnpPoint> points;
  std::string paper;    // the paper's values, a sentence
  std::string differs;  // the reason why ours differ, a sentence
};
[[nodiscard]] const std::vector<RcnpFigure>& rcnp_figures();

struct RcnpResult {
  RcnpPoint point;
  std::uint32_t run = 1;  // of the runs of the whole figure
  double rate_hz = 0;
  double mean_ms = 0;  // T_dec: assignment to decision; with groups, of the first one
  double sigma_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
  double filter_ms = 0;     // CPU time of a slice: in the filter
  double transport_ms = 0;  // requesting, receiving, assembling
  double algorithm_ms = 0;  // set: steps x RcnpPoint::microseconds
  double selection_ms = 0;  // mean T_dec without building whole slices and their last processing
  double other_cores = 0;   // CPU time per second of programs besides the farm
  std::vector<TimeAbove> above;

  [[nodiscard]] double cpu_ms() const { return filter_ms + transport_ms; }  // the paper's T_dst
};

// A straight line through points, by least squares. Needs two points with different x.
struct FittedLine {
  double slope = 0;
  double intercept = 0;
  double r_squared = 0;  // 1: all points lie on it
};
[[nodiscard]] FittedLine line_through(const std::vector<double>& x, const std::vector<double>& y);

// Draws times from a distribution, reproducibly for a seed.
class TimeDraw {
 public:
  TimeDraw(std::vector<TimeAbove> above, std::uint64_t seed);
  [[nodiscard]] double next_us();

 private:
  std::vector<TimeAbove> above_;
  std::uint64_t state_;
};

// The distribution of the sum of `draws` independent times (figure 9).
[[nodiscard]] std::vector<TimeAbove> sum_of_draws(const std::vector<TimeAbove>& one, std::uint32_t draws,
                                                  std::uint64_t seed);
// Returns the middle of the bin of `bin_us` above `from_us` with most times; 0: no time is above.
[[nodiscard]] double peak_us_of(const std::vector<TimeAbove>& above, double from_us, double bin_us);
[[nodiscard]] double mean_us_of(const std::vector<TimeAbove>& above);
[[nodiscard]] double percentile_us_of(const std::vector<TimeAbove>& above, double percent);

// A source's buffer with events at `rate_hz` and drawn lifetimes; N decisions are packed before they reach
// the source (figure 7b).
struct Occupancy {
  std::uint32_t packed = 1;
  double mean_slices = 0;
  double max_slices = 0;
  double sample_ms = 0;        // between two entries of `slices`
  std::vector<double> slices;  // held, over time
};
[[nodiscard]] Occupancy occupancy_of(const std::vector<TimeAbove>& lifetimes, double rate_hz,
                                     std::uint32_t packed, std::uint64_t seed);

struct RcnpOptions {
  std::string figure = "steps";
  double seconds = 5;        // of each run
  std::uint32_t rounds = 2;  // runs of the whole figure
  std::string judge = {};    // file of earlier lines: a page of them, and no run
  Output output;             // no name: rcnp-FIGURE
};

[[nodiscard]] Line line_of(const RcnpFigure& figure, const RcnpResult& result);
[[nodiscard]] std::string rcnp_page(const RcnpFigure& figure, const std::vector<RcnpResult>& results,
                                    const RcnpOptions& options, const std::string& machine);

// 0: every farm of the figure ran, and its ledger balanced.
[[nodiscard]] int run_rcnp(const RcnpOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
