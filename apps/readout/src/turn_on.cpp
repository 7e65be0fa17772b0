#include "turn_on.hpp"

#include <weir/reports/numbers.hpp>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

namespace weir::readout {

void TurnOn::expect(SliceId slice, std::vector<std::uint32_t> modules) {
  if (!modules.empty()) open_[slice] = std::move(modules);
}

void TurnOn::settle(const slice_codec::ClearedSlices& cleared) {
  if (open_.empty()) return;
  std::unordered_set<std::uint64_t> stored;
  for (const SliceId slice : cleared.stored) stored.insert(slice.value);
  for (const SliceId slice : cleared.slices) {
    const auto found = open_.find(slice);
    if (found == open_.end()) continue;
    for (const std::uint32_t modules : found->second) {
      const auto above =
          std::upper_bound(emulation::kModuleBins.begin(), emulation::kModuleBins.end(), modules);
      Bin& bin = bins_[static_cast<std::size_t>(above - emulation::kModuleBins.begin()) - 1];
      ++bin.tracks;
      bin.stored += stored.contains(slice.value) ? 1 : 0;
    }
    open_.erase(found);
  }
}

void TurnOn::forget_all_but(std::span<const SliceId> open) {
  std::erase_if(open_,
                [open](const auto& one) { return !std::binary_search(open.begin(), open.end(), one.first); });
}

void TurnOn::add_to(v1::Report& report) const {
  reports::ReportCounters counters(report);
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    if (bins_[i].tracks == 0) continue;
    const std::string modules = std::to_string(emulation::kModuleBins[i]);
    counters.of("truth.tracks.", modules) = bins_[i].tracks;
    counters.of("truth.stored.", modules) = bins_[i].stored;
  }
}

}  // namespace weir::readout
