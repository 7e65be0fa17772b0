#pragma once

#include <weir/base/ids.hpp>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <vector>

namespace weir::config {

// Effects of source.faults on fragments: changed bytes, or a late or missing arrival.
enum class Injected : std::uint8_t { damage, loss };

// The sources that may have a kind of injected fault.
struct InjectedSources {
  bool all;
  std::vector<SourceId> named;  // ascending

  [[nodiscard]] bool contains(SourceId source) const;
};
// Faults in a readout's own entry or profile count for all sources.
[[nodiscard]] InjectedSources injected_sources(const v1::Farm& farm, Injected kind);

}  // namespace weir::config
