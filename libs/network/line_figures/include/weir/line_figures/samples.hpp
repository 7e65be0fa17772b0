#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weir::line_figures {

// Statistics of samples, in their unit.
struct SampleStatistics {
  std::size_t count = 0;
  double least = 0;
  double mean = 0;
  double sigma = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double most = 0;
};
// Returns zeros without samples.
[[nodiscard]] SampleStatistics statistics_of(std::span<const double> samples);

// Returns the smallest sample that at least this share of the samples does not exceed. Requires: a sample.
[[nodiscard]] double quantile(std::span<const double> sorted, double share);

struct Bin {
  double from = 0;
  double to = 0;
  std::size_t count = 0;
};
// Returns `bins` bins of equal width from the smallest sample to the largest; none without samples, one if
// all are equal. Requires: bins > 0.
[[nodiscard]] std::vector<Bin> histogram_of(std::span<const double> samples, std::size_t bins);

// The cost of a message as a constant and a part that grows with its size.
struct MessageCost {
  double per_message = 0;
  double per_byte = 0;
};
// Fits cost = per_message + per_byte x bytes to pairs of bytes and cost, by least squares of the relative
// deviations; neither part is below 0. nullopt: fewer than two sizes with a cost.
[[nodiscard]] std::optional<MessageCost> fit_cost(std::span<const std::pair<double, double>> points);
// Returns the largest deviation of the fit from a point, relative to the point's cost. Points without a cost
// do not count.
[[nodiscard]] double deviation_of(const MessageCost& fit, std::span<const std::pair<double, double>> points);

}  // namespace weir::line_figures
