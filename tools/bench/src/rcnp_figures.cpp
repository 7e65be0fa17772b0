// Points and arithmetic of the RCNP emulation's figures. Pure.
#include "units.hpp"
#include <weir/base/hash.hpp>
#include <weir/bench/rcnp.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

namespace weir::bench {
namespace {

constexpr double kUsPerS = 1e6;
constexpr std::uint32_t kDraws = 200'000;
constexpr std::uint32_t kSamples = 500;  // of a buffer over time
constexpr double kStepCpuMs = 0.8;       // of the paper's destinations

RcnpPoint gathering(std::uint32_t sources) {
  RcnpPoint point;
  point.label = fmt::format("{} source{}", sources, sources == 1 ? "" : "s");
  point.x = sources;
  point.readouts = sources;
  point.dcms = 1;
  return point;
}

// 6 of the sources of a system of 6 or 19, other ones for each slice.
RcnpPoint system_of(std::uint32_t sources) {
  RcnpPoint point;
  point.label = fmt::format("6 of {} sources", sources);
  point.x = sources;
  point.readouts = sources;
  point.dcms = 1;
  point.steps = 1;
  point.sources_per_step = 6;
  point.microseconds = 0;
  return point;
}

RcnpPoint stepping(std::uint32_t steps, std::uint32_t dcms) {
  RcnpPoint point;
  point.label = fmt::format("{} step{}", steps, steps == 1 ? "" : "s");
  point.x = steps;
  point.dcms = dcms;
  point.sources_per_readout = std::max(2U, steps);
  point.steps = steps;
  point.paper_cpu_ms = kStepCpuMs * steps;
  return point;
}

RcnpPoint at_half_load(RcnpPoint point, const std::string& label) {
  point.label = label;
  point.half_load = true;
  return point;
}

// 16 steps. The paper gives 15 ms of CPU time here instead of 16 x 800 us.
RcnpPoint sixteen_steps(std::uint32_t dcms) {
  RcnpPoint point = stepping(16, dcms);
  point.paper_cpu_ms = 15;
  return point;
}

RcnpPoint with_paper_mean(RcnpPoint point, double ms) {
  point.paper_mean_ms = ms;
  return point;
}

RcnpPoint three_sources(std::uint32_t nodes) {
  RcnpPoint point;
  point.label = fmt::format("{} + {} nodes", nodes, nodes);
  point.readouts = nodes;
  point.dcms = nodes;
  point.steps = 1;
  point.sources_per_step = 3;
  point.half_load = true;
  return point;
}

// 4 of 11 sources and 11.4 ms of processing, at half of what 5 x 1 and 6 x 3 processors can do
// (AssignmentCase).
RcnpPoint unlike_destinations(const std::string& label, const std::string& policy) {
  RcnpPoint point;
  point.label = label;
  point.steps = 1;
  point.microseconds = 0;
  point.policy = policy;
  return point;
}

// 4 steps of 4 of 11 sources that reject half each; survivors have 11 x 4 kB and 10 ms of processing.
RcnpPoint selecting(const std::string& label, RcnpBuilding building) {
  RcnpPoint point;
  point.label = label;
  point.dcms = 3;
  point.sources_per_readout = 4;
  point.steps = 4;
  point.reject = 0.5;
  point.building = building;
  point.half_load = building != RcnpBuilding::other_group;
  point.rate_of_last = building == RcnpBuilding::other_group;
  return point;
}

std::vector<RcnpFigure> make_figures() {
  const std::string machine = "All processes share this machine's cores, where the paper has a host for each";
  return {
      {"5",
       "CPU time to request and gather blocks of 1 kB (T_dst)",
       "sources",
       {gathering(1), gathering(2), gathering(4), gathering(6), gathering(8), gathering(11), gathering(16)},
       "T_dst grows linearly with the number of sources; the curves have no numbers in the text",
       "One request frame and one block of fragments serve many slices, so the cost of a source falls with "
       "the rate"},
      {"sources",
       "CPU time to gather 6 blocks of 1 kB in systems of 6 and 19 sources (V.B)",
       "",
       {system_of(6), system_of(19)},
       "the time depends on the number of sources in the system with socket based interfaces "
       "(partly because of select), and not with the zero copy library; how many blocks were "
       "gathered, and the curves' numbers, are not in the text: 6 blocks are ours",
       "A readout answers several slices in a block, and has a third of the slices if it is one of 19"},
      {"steps",
       "CPU time of a sequence of steps: 4 of 11 sources of 1 kB, a copy and 100 us each (VI.A)",
       "steps",
       {stepping(1, 1), stepping(2, 1), stepping(4, 1), stepping(6, 1), stepping(8, 1), stepping(12, 1),
        stepping(16, 1)},
       "linear, 800 us per step, of which 100 us are the algorithm; the table's values are 800 us times the "
       "steps (table 1 has 15 ms for 16)",
       "A step's transport costs system calls of a loop that serves all slices of the DCM at a time"},
      {"table1",
       "Components of T_dst for 16 steps",
       "",
       {sixteen_steps(1)},
       "DEC: 15 ms, algorithm 11 %, copy 26 %, sent requests 17 %, responses 13 %, other 33 %; zero copy: 9 "
       "ms, 18 %, 33 %, "
       "7 %, 3 %, 38 %",
       "Weir measures threads: the filter's CPU time holds algorithm and copy, transport holds the other "
       "rows"},
      {"7",
       "Decision latency of 16 steps at half load, and the buffers that sources need at 100 kHz",
       "",
       {with_paper_mean(at_half_load(sixteen_steps(11), "16 steps, half load"), 52)},
       "mean 52 ms at 15 ms of CPU, several 100 ms at most; at most about 6 MB of buffer",
       machine + "; the least latency is 16 round trips and 1.6 ms of algorithm"},
      {"8",
       "Decision latency of a small and a large testbed: 3 sources of 1 kB, a copy and 100 us",
       "",
       {with_paper_mean(three_sources(3), 2.4), with_paper_mean(three_sources(11), 3.8)},
       "mean 2.4 ms on 3 + 3 nodes and 3.8 ms on 11 + 11 at half load",
       machine + "; both farms run at half of what these cores carry, so the number of nodes alone does not "
                 "lengthen the latency"},
      {"9",
       "Ten steps, estimated as the sum of ten draws of the one-step distribution",
       "",
       {at_half_load(stepping(1, 11), "1 step"), at_half_load(stepping(10, 11), "10 steps")},
       "the estimate agrees rather well for this simple sequence, and diverges for more complex "
       "ones; that it is a sum of draws is our reading of a \"Monte-Carlo simulation\"; CPU times "
       "are 800 us times the steps",
       "Open: half load is another rate for one step than for ten, and the queues of the ten steps "
       "of a slice may depend on each other; neither was shown"},
      {"10a",
       "Decision latency with unlike destinations: 5 of one processor and 6 of three, at half load",
       "",
       {with_paper_mean(unlike_destinations("credits", "credits"), 75),
        with_paper_mean(unlike_destinations("schedule table", "schedule-table"), 14)},
       "mean 75 ms with credits alone, with a peak at 200 ms of the full workstations; 14 ms with a schedule "
       "table "
       "that lists the servers twice as often",
       "The paper gives neither the number of credits nor the time beside the 10 ms of processing. "
       "Its servers have 4 or 12 processors (section II), which do the work of 3.5 and about 8 if "
       "the algorithm takes 30 ms or more (VI.E). 11.4 ms, and three processors of a server, were "
       "chosen for its 2 kHz, and 17 credits for its peak: a full workstation takes 17 x 11.4 ms = "
       "194 ms. So the peak is not a result, and the mean of 75 ms hardly one. Processors are "
       "threads that sleep; with constant times a workstation is full or idle, so its latency has "
       "no spread"},
      {"15",
       "Decision latency of the selection without building, with building in a second group, and in the same "
       "farm",
       "",
       {selecting("no EB", RcnpBuilding::nowhere),
        selecting("EB in EFT (split farm)", RcnpBuilding::other_group),
        selecting("EB in SEL (single farm)", RcnpBuilding::same_farm)},
       "mean T_dec up to step 4 rises from no EB over EB in EFT to EB in SEL, at half load (1.1, 1.1 and 0.5 "
       "kHz); "
       "the single farm peaks near 20 ms = 6.6 + 4.3 + 10. The reject rates are not given",
       machine + ", so that building in the second group takes CPU from the selection as well; the 10 ms are "
                 "asleep, half of the slices is rejected by each step, and 3 + 3 DCMs replace 6 + 6"}};
}

}  // namespace

const std::vector<RcnpFigure>& rcnp_figures() {
  static const std::vector<RcnpFigure> figures = make_figures();
  return figures;
}

FittedLine line_through(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double sum_x = 0;
  double sum_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum_x += x[i];
    sum_y += y[i];
  }
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - sum_x / n) * (x[i] - sum_x / n);
    xy += (x[i] - sum_x / n) * (y[i] - sum_y / n);
    yy += (y[i] - sum_y / n) * (y[i] - sum_y / n);
  }
  FittedLine line;
  line.slope = xy / xx;
  line.intercept = (sum_y - line.slope * sum_x) / n;
  line.r_squared = yy > 0 ? xy * xy / (xx * yy) : 1;
  return line;
}

TimeDraw::TimeDraw(std::vector<TimeAbove> above, std::uint64_t seed)
    : above_(std::move(above)), state_(mix64(seed)) {}

// The inverse of P(T > t), at the ends of its bins.
double TimeDraw::next_us() {
  state_ = mix64(state_);
  const double share = static_cast<double>(state_ >> 11) * 0x1.0p-53;
  const auto found = std::ranges::upper_bound(above_, share, std::greater<>(), &TimeAbove::share);
  return found == above_.end() ? above_.back().us : found->us;
}

std::vector<TimeAbove> sum_of_draws(const std::vector<TimeAbove>& one, std::uint32_t draws,
                                    std::uint64_t seed) {
  TimeDraw draw(one, seed);
  std::vector<double> sums(kDraws);
  for (double& sum : sums) {
    for (std::uint32_t i = 0; i < draws; ++i) sum += draw.next_us();
  }
  std::sort(sums.begin(), sums.end());
  std::vector<TimeAbove> above;
  constexpr std::size_t kBins = 1000;
  for (std::size_t bin = 1; bin <= kBins; ++bin) {
    const std::size_t below = bin * sums.size() / kBins;
    above.push_back({sums[below - 1], 1 - static_cast<double>(below) / static_cast<double>(sums.size())});
  }
  return above;
}

double peak_us_of(const std::vector<TimeAbove>& above, double from_us, double bin_us) {
  const auto share_above = [&](double us) {
    const auto found = std::ranges::find_if(above, [us](const TimeAbove& one) { return one.us >= us; });
    return found == above.end() ? 0.0 : found->share;
  };
  double peak_us = 0;
  double most = 0;
  const double last = above.empty() ? 0 : above.back().us;
  for (double us = from_us; us <= last + bin_us; us += bin_us) {
    const double share = share_above(us) - share_above(us + bin_us);
    if (share <= most) continue;
    most = share;
    peak_us = us + bin_us / 2;
  }
  return peak_us;
}

double mean_us_of(const std::vector<TimeAbove>& above) {
  double mean = 0;
  double before = 1;
  for (const TimeAbove& one : above) {
    mean += (before - one.share) * one.us;
    before = one.share;
  }
  return mean;
}

double percentile_us_of(const std::vector<TimeAbove>& above, double percent) {
  const auto found =
      std::ranges::find_if(above, [&](const TimeAbove& one) { return one.share <= 1 - percent / 100; });
  return found == above.end() ? above.back().us : found->us;
}

Occupancy occupancy_of(const std::vector<TimeAbove>& lifetimes, double rate_hz, std::uint32_t packed,
                       std::uint64_t seed) {
  TimeDraw draw(lifetimes, seed);
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;
  const double apart_us = kUsPerS / rate_hz;
  Occupancy occupancy;
  occupancy.packed = packed;
  constexpr std::uint32_t kApart = kDraws / kSamples;  // events between two samples
  occupancy.sample_ms = apart_us * kApart / kUsPerMs;
  std::uint64_t held = 0;
  std::uint64_t expired = 0;  // not yet sent to the source
  double sum = 0;
  // Half of the events fill the buffer, the other half is counted.
  for (std::uint32_t event = 0; event < 2 * kDraws; ++event) {
    const double now_us = apart_us * event;
    for (; !ends.empty() && ends.top() <= now_us; ends.pop()) ++expired;
    const std::uint64_t removed = expired - expired % packed;
    held -= removed;
    expired -= removed;
    ++held;
    ends.push(now_us + draw.next_us());
    if (event < kDraws) continue;
    sum += static_cast<double>(held);
    occupancy.max_slices = std::max(occupancy.max_slices, static_cast<double>(held));
    if (event % kApart == 0) occupancy.slices.push_back(static_cast<double>(held));
  }
  occupancy.mean_slices = sum / kDraws;
  return occupancy;
}

}  // namespace weir::bench
