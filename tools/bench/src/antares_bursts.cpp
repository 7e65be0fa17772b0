// Figure 4.4 of van Rantwijk's thesis: the emulated bursts, counted.
#include "antares_bursts.hpp"

#include "units.hpp"
#include <weir/base/time.hpp>
#include <weir/emulation/hits_source.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::bench {
namespace {

constexpr double kBurstFraction = 0.05;
constexpr double kBurstMostS = 3;
// Slices so far apart give independent counts more often than neighbours do.
constexpr DurationNs kApart = 50 * kMillisecond;
constexpr DurationNs kSliceNs = 10 * kMillisecond;
constexpr std::uint32_t kCountedSlices = 40'000;

bool in_burst(const emulation::HitsSettings& settings, std::uint32_t lcm, TimeNs at_ns,
              std::vector<emulation::RateSegment>& segments) {
  emulation::background_rate(settings, lcm, at_ns, kSliceNs, segments);
  return segments.front().rate_hz > settings.background_hz;
}

std::string bursts_page(const Experiment& experiment, const BurstCount& count, std::uint32_t lcms,
                        const ExperimentOptions& options) {
  const bool mean_met = std::abs(count.mean / (kBurstFraction * lcms) - 1) < 0.07;
  const double expected = std::sqrt(lcms * kBurstFraction * (1 - kBurstFraction));
  const bool sigma_met = std::abs(count.sigma / expected - 1) < 0.1;
  return page_head(fmt::format("Figure {} of the ANTARES thesis", experiment.id), options.output,
                   fmt::format("{}: {} slices, {} ms apart.", experiment.title, kCountedSlices,
                               kApart / kMillisecond)) +
         verdict_table_head() +
         verdict_row(mean_met, "4.4.1: on average 5 % of the detector (15 of 300 LCMs) is in burst mode",
                     "within 7 %", fmt::format("{:.2f}", count.mean)) +
         verdict_row(sigma_met, "4.3.3: bursts in different floors are independent",
                     fmt::format("sigma of the counts within 10 % of the binomial law's {:.2f}", expected),
                     fmt::format("{:.2f}", count.sigma)) +
         fmt::format("\nDifferences: {}\n", experiment.differs);
}

}  // namespace

BurstCount count_bursts(std::uint32_t lcms, std::uint32_t slices) {
  emulation::HitsSettings settings;
  settings.floors_per_string = lcms;
  settings.burst_fraction = kBurstFraction;
  settings.burst_s_max = kBurstMostS;
  std::vector<emulation::RateSegment> segments;
  BurstCount count;
  double sum = 0;
  double squares = 0;
  for (std::uint32_t slice = 0; slice < slices; ++slice) {
    std::uint32_t bursts = 0;
    for (std::uint32_t lcm = 0; lcm < lcms; ++lcm)
      bursts += in_burst(settings, lcm, static_cast<TimeNs>(slice) * kApart, segments) ? 1 : 0;
    ++count.slices[bursts];
    sum += bursts;
    squares += static_cast<double>(bursts) * bursts;
  }
  count.mean = sum / slices;
  count.sigma = std::sqrt(std::max(0.0, squares / slices - count.mean * count.mean));
  return count;
}

int run_bursts(const Experiment& experiment, const ExperimentOptions& options, std::FILE* out,
               std::FILE* err) {
  const auto lcms = static_cast<std::uint32_t>(experiment.setting.readouts);
  const BurstCount count = count_bursts(lcms, kCountedSlices);
  Figure figure;
  figure.bench = options.bench;
  figure.groups = {{{experiment.id, [&] {
                       boost::json::array slices;
                       for (const auto& [bursts, number] : count.slices)
                         slices.push_back(boost::json::array{bursts, number});
                       return Lines{{{"bench", "bursts"},
                                     {"paper", options.bench},
                                     {"figure", experiment.id},
                                     {"title", experiment.title},
                                     {"lcms", lcms},
                                     {"mean", four_digits(count.mean)},
                                     {"sigma", four_digits(count.sigma)},
                                     {"slices", std::move(slices)}}};
                     }}}};
  figure.page = [&](const Lines&) { return bursts_page(experiment, count, lcms, options); };
  Output output = options.output;
  output.name = output_name(experiment, options);
  return run_figure(figure, output, out, err);
}

}  // namespace weir::bench
