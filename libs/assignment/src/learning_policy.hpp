#pragma once

#include <weir/assignment/policy.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace weir::assignment {

// Of each DCM the decision time is learned as a function of how many slices it had when it was given one:
// that has in it how fast it is, on how many processing units, and what queues there. Nothing else is known
// or told.
//
// The estimator: for each DCM and class of occupancy (0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, ...: two to a
// doubling from 2 on) an exponentially weighted mean of measured decision times, weight 1/8 for the new one,
// as for a smoothed round-trip time (Jacobson, "Congestion avoidance and control", 1988, appendix A). A slice
// is expected to take
//     the mean of its class, and no less than a DCM that has slices has been silent.
// Decision times vary, and a mean of eight of them by a sixth or so: expectations within kAlike of the least
// are taken for equal, and the DCM with the smallest share of its credits in use has the slice. Of a class
// that is not known the next lower one is taken that is, in proportion to the slices, as of a single
// processing unit; whether there are more shows when it is tried, once that looks best. A mean is forgotten
// when it was not measured anew for kForgetTimes its own length (no less than kForgetMin, no more than
// kForgetMax or four times its length), and a DCM without slices of which nothing is known is expected to
// take none: so one that was slow is tried again, with one slice, and is found when it has become fast
// (optimism in the face of uncertainty, Lai and Robbins 1985). The first measurement after that counts whole.
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

  // For tests, and for people: what a slice would take there now; 0: not known.
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
    TimeNs heard_at = 0;  // its last decision, or when it was given a slice and had none
  };
  [[nodiscard]] static std::size_t class_of(std::uint32_t in_use);
  [[nodiscard]] static std::uint32_t first_of(std::size_t place);  // the least occupancy of a class
  [[nodiscard]] static bool is_forgotten(const Mean& mean, TimeNs now);
  [[nodiscard]] Dcm& of(std::size_t place);

  std::vector<Dcm> dcms_;
  std::vector<DurationNs> expected_;  // of the choice at hand
  std::size_t last_ = 0;
};

}  // namespace weir::assignment
