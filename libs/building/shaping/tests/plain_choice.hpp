#pragma once

#include <weir/shaping/readout_choice.hpp>

#include <span>

// The choice by its definition, from all candidates of one slice: the reference for ReadoutChoice.
namespace weir::shaping {

struct Candidate {
  std::uint32_t readout = 0;  // index
  std::uint64_t owed = 0;
  std::uint64_t left = 0;
  bool open = true;  // may be asked now
};

// Returns the index of the candidate to ask; nothing if none is open.
inline std::optional<std::size_t> choose(ReadoutOrder order, std::span<const Candidate> candidates,
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
