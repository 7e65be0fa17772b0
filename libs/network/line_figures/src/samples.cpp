#include <weir/base/assert.hpp>
#include <weir/line_figures/samples.hpp>

#include <algorithm>
#include <cmath>

namespace weir::line_figures {

double quantile(std::span<const double> sorted, double share) {
  WEIR_ASSERT(!sorted.empty());
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  const auto at = static_cast<std::size_t>(std::max(1.0, rank)) - 1;
  return sorted[std::min(at, sorted.size() - 1)];
}

SampleStatistics statistics_of(std::span<const double> samples) {
  SampleStatistics summary;
  if (samples.empty()) return summary;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  summary.count = sorted.size();
  const auto count = static_cast<double>(sorted.size());
  for (const double sample : sorted) summary.mean += sample / count;
  double squares = 0;
  for (const double sample : sorted) squares += (sample - summary.mean) * (sample - summary.mean);
  summary.sigma = std::sqrt(squares / count);
  summary.least = sorted.front();
  summary.most = sorted.back();
  constexpr double kHalf = 0.5;
  constexpr double kNineTenths = 0.9;
  constexpr double kNinetyNine = 0.99;
  summary.p50 = quantile(sorted, kHalf);
  summary.p90 = quantile(sorted, kNineTenths);
  summary.p99 = quantile(sorted, kNinetyNine);
  return summary;
}

std::vector<Bin> histogram_of(std::span<const double> samples, std::size_t bins) {
  WEIR_ASSERT(bins > 0);
  if (samples.empty()) return {};
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  if (*least == *most) return {{*least, *most, samples.size()}};
  const double width = (*most - *least) / static_cast<double>(bins);
  std::vector<Bin> histogram(bins);
  for (std::size_t i = 0; i < bins; ++i) {
    histogram[i].from = *least + static_cast<double>(i) * width;
    histogram[i].to = *least + static_cast<double>(i + 1) * width;
  }
  for (const double sample : samples) {
    const auto at = static_cast<std::size_t>((sample - *least) / width);
    ++histogram[std::min(at, bins - 1)].count;
  }
  return histogram;
}

std::optional<MessageCost> fit_cost(std::span<const std::pair<double, double>> points) {
  double x = 0;
  double y = 0;
  const auto count = static_cast<double>(points.size());
  for (const auto& [bytes, cost] : points) {
    x += bytes / count;
    y += cost / count;
  }
  double xx = 0;
  double xy = 0;
  for (const auto& [bytes, cost] : points) {
    xx += (bytes - x) * (bytes - x);
    xy += (bytes - x) * (cost - y);
  }
  if (xx <= 0) return std::nullopt;
  const double slope = xy / xx;
  return MessageCost{y - slope * x, slope};
}

}  // namespace weir::line_figures
