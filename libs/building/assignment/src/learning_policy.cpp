#include "learning_policy.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <bit>
#include <limits>

namespace weir::assignment {

std::size_t LearningPolicy::class_of(std::uint32_t in_use) {
  if (in_use < 2) return in_use;
  const auto doublings = static_cast<std::size_t>(std::bit_width(in_use)) - 1;
  const std::size_t upper_half = in_use >> (doublings - 1) & 1U;
  return std::min(2 * doublings + upper_half, kClasses - 1);
}

std::uint32_t LearningPolicy::first_of(std::size_t place) {
  if (place < 2) return static_cast<std::uint32_t>(place);
  const std::size_t doublings = place / 2;
  return (1U << doublings) + (place % 2 == 1 ? 1U << (doublings - 1) : 0U);
}

bool LearningPolicy::is_forgotten(const Mean& mean, TimeNs now) {
  constexpr int kTimesAtLeast = 4;
  const auto length = static_cast<DurationNs>(mean.ns);
  const DurationNs most = std::max(kForgetMax, kTimesAtLeast * length);
  return !mean.known || now - mean.measured_at > std::clamp(kForgetTimes * length, kForgetMin, most);
}

LearningPolicy::Dcm& LearningPolicy::of(std::size_t place) {
  if (place >= dcms_.size()) dcms_.resize(place + 1);
  return dcms_[place];
}

DurationNs LearningPolicy::expected(NodeIndex dcm, std::uint32_t in_use, TimeNs now) const {
  if (dcm.value >= dcms_.size()) return in_use == 0 ? 0 : kUnknown;
  const Dcm& known = dcms_[dcm.value];
  const DurationNs silent = in_use > 0 && known.heard_at > 0 ? now - known.heard_at : 0;
  const std::size_t own = class_of(in_use);
  const auto from = [&](std::size_t place) {
    const double slices = place == own ? 1 : (1.0 + in_use) / (1.0 + first_of(place));
    return std::max(static_cast<DurationNs>(known.means[place].ns * slices), silent);
  };
  for (std::size_t place = own + 1; place-- > 0;) {
    if (!is_forgotten(known.means[place], now)) return from(place);
  }
  if (in_use == 0) return 0;
  // While a DCM is being tried one slice is enough.
  return known.means[0].known ? from(0) : kUnknown;
}

std::optional<NodeIndex> LearningPolicy::choose(SliceId, std::span<const DcmView> dcms, TimeNs now) {
  constexpr DurationNs kFull = std::numeric_limits<DurationNs>::max();
  expected_.assign(dcms.size(), kFull);
  for (std::size_t place = 0; place < dcms.size(); ++place) {
    if (dcms[place].credits_free > 0)
      expected_[place] = expected(NodeIndex(static_cast<std::uint16_t>(place)), dcms[place].in_use(), now);
  }
  const auto least = std::min_element(expected_.begin(), expected_.end());
  if (least == expected_.end() || *least == kFull) return std::nullopt;
  const auto enough = static_cast<DurationNs>(static_cast<double>(*least) * kAlike);
  const auto load = [&](std::size_t one, std::size_t other) {
    return std::uint64_t{dcms[one].in_use()} * dcms[other].credits;
  };
  std::optional<std::size_t> best;
  for (std::size_t step = 1; step <= dcms.size(); ++step) {  // round robin among equals
    const std::size_t place = (last_ + step) % dcms.size();
    if (expected_[place] > enough) continue;
    if (!best || load(place, *best) < load(*best, place)) best = place;
  }
  WEIR_ASSERT(best.has_value());  // the least expected time is one of them
  last_ = *best;
  if (dcms[*best].in_use() == 0) of(*best).heard_at = now;
  return NodeIndex(static_cast<std::uint16_t>(*best));
}

void LearningPolicy::decided(NodeIndex dcm, std::uint32_t before, DurationNs took, TimeNs now) {
  constexpr double kWeight = 0.125;
  Dcm& known = of(dcm.value);
  known.heard_at = now;
  WEIR_ASSERT(class_of(before) < known.means.size());
  Mean& mean = known.means[class_of(before)];
  const auto measured = static_cast<double>(std::max<DurationNs>(took, 1));
  mean.ns = is_forgotten(mean, now) ? measured : mean.ns + kWeight * (measured - mean.ns);
  mean.known = true;
  mean.measured_at = now;
}

void LearningPolicy::joined(NodeIndex dcm) { of(dcm.value) = {}; }

}  // namespace weir::assignment
