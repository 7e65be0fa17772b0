#pragma once

#include <weir/bench/trace_view.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace weir::bench {

// Returns the delay of each fragment in files of `dcm.trace_slices`: the slice, and the ms from its first
// arrival to the fragment's last byte. Of more than `points_max` an even selection. Pure.
[[nodiscard]] Series delays_of(const std::vector<std::string>& files, std::size_t points_max);

}  // namespace weir::bench
