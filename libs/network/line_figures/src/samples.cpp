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

namespace {

// Sums over sizes, each with the weight 1 / cost^2, so that short messages count as much as long ones.
struct WeightedSums {
  double weight = 0;
  double bytes = 0;
  double cost = 0;
  double bytes_bytes = 0;
  double bytes_cost = 0;
};

}  // namespace

std::optional<MessageCost> fit_cost(std::span<const std::pair<double, double>> points) {
  WeightedSums sums;
  bool several = false;
  for (const auto& [bytes, cost] : points) {
    several = several || bytes != points.front().first;
    if (cost <= 0) continue;
    const double weight = 1 / (cost * cost);
    sums.weight += weight;
    sums.bytes += weight * bytes;
    sums.cost += weight * cost;
    sums.bytes_bytes += weight * bytes * bytes;
    sums.bytes_cost += weight * bytes * cost;
  }
  const double determinant = sums.weight * sums.bytes_bytes - sums.bytes * sums.bytes;
  if (!several || determinant <= 0) return std::nullopt;
  const double per_byte = (sums.weight * sums.bytes_cost - sums.bytes * sums.cost) / determinant;
  if (per_byte < 0) return MessageCost{sums.cost / sums.weight, 0};
  const double per_message = (sums.cost - per_byte * sums.bytes) / sums.weight;
  if (per_message < 0) return MessageCost{0, sums.bytes_cost / sums.bytes_bytes};
  return MessageCost{per_message, per_byte};
}

double deviation_of(const MessageCost& fit, std::span<const std::pair<double, double>> points) {
  double most = 0;
  for (const auto& [bytes, cost] : points) {
    if (cost > 0) most = std::max(most, std::abs(fit.per_message + fit.per_byte * bytes - cost) / cost);
  }
  return most;
}

}  // namespace weir::line_figures
