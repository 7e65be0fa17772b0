#include <weir/packet_model/push_workload.hpp>

#include <algorithm>
#include <cmath>

namespace weir::packet_model {

PushWorkload::PushWorkload(std::uint32_t readouts, std::uint32_t fragment_bytes, DurationNs slice_ns,
                           const BurstSpec& bursts, std::uint64_t seed)
    : fragment_bytes_(fragment_bytes),
      slice_ns_(slice_ns),
      bursts_(bursts),
      random_(seed),
      left_(readouts),
      cut_off_(fragment_bytes, bursts.cut_off_slices, readouts) {
  if (bursts_.share <= 0) return;
  // A burst that lasts for a part of a slice takes all of it. Gaps are geometric and may be empty.
  const double mean_slices =
      (static_cast<double>(bursts_.longest_ns) / static_cast<double>(slice_ns_) + 1) / 2;
  start_ = 1 / (1 + mean_slices * (1 - bursts_.share) / bursts_.share);
}

PushWorkload::Fragment PushWorkload::next(std::uint32_t readout, std::uint32_t slice) {
  if (readout == 0) in_burst_ = 0;
  std::uint32_t& left = left_[readout];
  if (left == 0 && random_.chance(start_)) {
    const double lasts = random_.uniform() * static_cast<double>(bursts_.longest_ns);
    left = std::max(1U, static_cast<std::uint32_t>(std::ceil(lasts / static_cast<double>(slice_ns_))));
  }
  Fragment fragment{fragment_bytes_, std::nullopt};
  if (left > 0) {
    --left;
    ++in_burst_;
    fragment.bytes = bursts_.fragment_bytes;
  }
  if (bursts_.cut_off_slices == 0) return fragment;
  if (const auto middle = cut_off_.saw(readout, SliceId{slice}, fragment.bytes))
    fragment.cut_off = static_cast<std::uint32_t>(middle->value);
  return fragment;
}

}  // namespace weir::packet_model
