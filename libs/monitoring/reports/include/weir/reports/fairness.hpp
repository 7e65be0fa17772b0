#pragma once

#include <weir/v1/control.pb.h>

#include <cstdint>
#include <span>

namespace weir::reports {

// Returns Jain's fairness index of shares x (Jain, Chiu and Hawe 1984, DEC-TR-301):
// (sum of x)^2 / (n x sum of x^2), 1 if all are equal, 1/n if one has all. 0 if none has any.
[[nodiscard]] double fairness_of(std::span<const double> shares);
[[nodiscard]] double fairness_of(std::span<const std::uint64_t> bytes);

// Returns the index of the bytes of all flows, from each readout to each DCM, by the gauges of the DCMs'
// reports; others are skipped.
class FlowFairness {
 public:
  void add(const v1::Report& report);
  [[nodiscard]] double index() const;

 private:
  double flows_ = 0;
  double bytes_ = 0;
  double squares_ = 0;
};

}  // namespace weir::reports
