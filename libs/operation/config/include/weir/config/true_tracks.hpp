#pragma once

#include <weir/v1/farm.pb.h>

namespace weir::config {

// Returns true if the first readout of kind `hits` records true tracks and compares them with stored slices.
[[nodiscard]] inline bool has_true_tracks(const v1::Farm& farm) {
  return farm.source().kind() == v1::SourceSettings::KIND_HITS && farm.hits().track_rate_hz() > 0;
}

}  // namespace weir::config
