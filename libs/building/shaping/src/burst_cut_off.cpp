#include <weir/shaping/burst_cut_off.hpp>

namespace weir::shaping {

std::optional<SliceId> BurstCutOff::saw(std::uint32_t source, SliceId slice, std::uint64_t fragment_bytes) {
  Burst& burst = bursts_[source];
  if (fragment_bytes <= bytes_) {
    burst.length = 0;
    burst.last.clear();
    return std::nullopt;
  }
  if (++burst.length <= slices_) return std::nullopt;
  burst.last.push_back(slice);
  if (burst.last.size() <= slices_) return std::nullopt;
  const SliceId middle = burst.last.front();
  burst.last.pop_front();
  return middle;
}

}  // namespace weir::shaping
