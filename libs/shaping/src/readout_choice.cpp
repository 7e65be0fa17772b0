#include <weir/shaping/readout_choice.hpp>

namespace weir::shaping {

std::optional<std::size_t> choose(ReadoutOrder order, std::span<const Candidate> candidates,
                                  std::uint32_t first, std::uint32_t readouts) {
  std::optional<std::size_t> best;
  const auto turn = [&](const Candidate& candidate) {
    if (order == ReadoutOrder::in_order) return candidate.readout;
    return candidate.readout >= first ? candidate.readout - first : candidate.readout + readouts - first;
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (!candidate.open) continue;
    if (!best) {
      best = i;
      continue;
    }
    const Candidate& so_far = candidates[*best];
    const bool by_load = order == ReadoutOrder::least_loaded;
    if (by_load && candidate.owed != so_far.owed) {
      if (candidate.owed < so_far.owed) best = i;
    } else if (by_load && candidate.left != so_far.left) {
      if (candidate.left > so_far.left) best = i;
    } else if (turn(candidate) < turn(so_far)) {
      best = i;
    }
  }
  return best;
}

}  // namespace weir::shaping
