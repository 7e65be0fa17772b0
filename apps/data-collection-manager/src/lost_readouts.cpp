#include "lost_readouts.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>

namespace weir::dcm {

void LostReadouts::set_lost(std::uint32_t readout, bool lost) {
  Readout& of = readouts_[readout];
  if (of.lost == lost) return;
  of.lost = lost;
  if (lost) {
    lost_.push_back(readout);
  } else {
    std::erase(lost_, readout);
    of.given_up = false;
  }
  may_strand_ = true;
}

void LostReadouts::set_verdict(const std::vector<bool>& missing, bool cut_off) {
  WEIR_ASSERT(missing.size() == readouts_.size());
  for (std::uint32_t readout = 0; readout < readouts_.size(); ++readout) {
    readouts_[readout].missing = missing[readout];
    if (!missing[readout]) readouts_[readout].given_up = false;
  }
  cut_off_ = cut_off;
  may_strand_ = true;
}

bool LostReadouts::any_given_up() const {
  return std::any_of(lost_.begin(), lost_.end(),
                     [this](std::uint32_t readout) { return is_given_up(readout); });
}

}  // namespace weir::dcm
