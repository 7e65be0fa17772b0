#include <weir/reports/fairness.hpp>
#include <weir/reports/numbers.hpp>

#include <vector>

namespace weir::reports {

double fairness_of(std::span<const double> shares) {
  double sum = 0;
  double squares = 0;
  for (const double one : shares) {
    sum += one;
    squares += one * one;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(shares.size()) * squares) : 0;
}

double fairness_of(std::span<const std::uint64_t> bytes) {
  const std::vector<double> shares(bytes.begin(), bytes.end());
  return fairness_of(std::span<const double>(shares));
}

// The index of a part gives back the part's sum of squares.
void FlowFairness::add(const v1::Report& report) {
  const double flows = gauge_of(report, "dcm.flows").value_or(0);
  const double fairness = gauge_of(report, "dcm.flow_fairness").value_or(0);
  const auto bytes = static_cast<double>(counter_of(report, "fragments.bytes"));
  flows_ += flows;
  bytes_ += bytes;
  if (flows > 0 && fairness > 0) squares_ += bytes * bytes / (flows * fairness);
}

double FlowFairness::index() const { return squares_ > 0 ? bytes_ * bytes_ / (flows_ * squares_) : 0; }

}  // namespace weir::reports
