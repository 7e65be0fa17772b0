#pragma once

#include <weir/base/ids.hpp>
#include <weir/v1/farm.pb.h>

#include <cstdint>

namespace weir::config {

// Effects of source.faults on fragments: changed bytes, or a late or missing arrival.
enum class Injected : std::uint8_t { damage, loss };

// Returns whether the faults of these settings do so to the source.
[[nodiscard]] bool injects(const v1::SourceSettings& settings, SourceId source, Injected kind);
// Returns whether the faults of a readout's own entry or profile do so to any source.
[[nodiscard]] bool entries_inject(const v1::Farm& farm, Injected kind);

}  // namespace weir::config
