#pragma once

#include <weir/assignment/policy.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace weir::assignment {

// Learns each DCM's decision time as a function of the number of slices that it had when it received one:
// this covers its speed, its number of processing units and the queue in front of them. The policy has no
// other information.
//
// The estimator: for each DCM and class of occupancy (0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, ...: two to a
// doubling from 2 on) an exponentially weighted mean of measured decision times, weight 1/8 for the new one,
// as for a smoothed round-trip time (Jacobson, "Congestion avoidance and control", 1988, appendix A). The
// expected time of a slice is the mean of its class, but at least the time for which a DCM with slices has
// been silent. Decision times vary, and a mean of eight of them by about a sixth: expectations within kAlike
// of the least count as equal, and the DCM with the smallest share of its credits in use gets the slice. A
// class without a mean uses the next lower class that has one, scaled in proportion to the slices, as for a
// single processing unit; further units are discovered when the class is tried, once it looks best. A mean
// expires when it has not been measured for kForgetTimes its own length (at least kForgetMin, at most
// kForgetMax or four times its length), and a DCM without slices and without means is expected to take no
// time: so a slow DCM is tried again with one slice, which shows whether it has become fast (optimism in the
// face of uncertainty, Lai and Robbins 1985). The first measurement after that counts in full.
class LearningPolicy final : public AssignmentPolicy {
 public:
  static constexpr double kAlike = 1.25;
  static constexpr int kForgetTimes = 30;
  static constexpr DurationNs kForgetMin = 200 * kMillisecond;
  static constexpr DurationNs kForgetMax = 2 * kSecond;

  [[nodiscard]] std::string_view name() const override { return "learning"; }
  [[nodiscard]] std::optional<NodeIndex> choose(SliceId slice, std::span<const DcmView> dcms,
                                                TimeNs now) override;
  void decided(NodeIndex dcm, std::uint32_t before, DurationNs took, TimeNs now) override;
  void joined(NodeIndex dcm) override;

  // For tests and diagnostics: returns the expected time of a slice there; 0 if unknown.
  [[nodiscard]] DurationNs expected(NodeIndex dcm, std::uint32_t in_use, TimeNs now) const;

 private:
  static constexpr std::size_t kClasses = 34;
  static constexpr DurationNs kUnknown = 3600 * kSecond;  // behind all that is known
  struct Mean {
    double ns = 0;
    TimeNs measured_at = 0;
    bool known = false;
  };
  struct Dcm {
    std::array<Mean, kClasses> means;
    TimeNs heard_at = 0;  // its last decision, or when it received a slice and had none
  };
  [[nodiscard]] static std::size_t class_of(std::uint32_t in_use);
  [[nodiscard]] static std::uint32_t first_of(std::size_t place);  // the least occupancy of a class
  [[nodiscard]] static bool is_forgotten(const Mean& mean, TimeNs now);
  [[nodiscard]] Dcm& of(std::size_t place);

  std::vector<Dcm> dcms_;
  std::vector<DurationNs> expected_;  // for the current choice
  std::size_t last_ = 0;
};

}  // namespace weir::assignment
