#pragma once

#include <weir/bench/trace_view.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::bench {

// Returns the delay of each fragment in files of `dcm.trace_slices`: the slice, and the ms from its first
// arrival to the fragment's last byte. Of more than `points_max` an even selection. Pure.
[[nodiscard]] Series delays_of(const std::vector<std::string>& files, std::size_t points_max);

// Returns the delays in ms of all fragments of pushed slices, in no order: from the slice's first arrival,
// and the readout's slot after it, to the fragment's last byte. A slot lasts `slot_ms`, `group` readouts
// share one; 0: all send at once. Pure.
[[nodiscard]] std::vector<double> fragment_delays_of(const std::vector<std::string>& files,
                                                     std::uint32_t group, double slot_ms);

}  // namespace weir::bench
