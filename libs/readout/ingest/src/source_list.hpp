#pragma once

#include <weir/ingest/recorded_run.hpp>

#include <algorithm>
#include <vector>

namespace weir::ingest {

// Returns the sources that occur in the slices, ascending, each once.
[[nodiscard]] inline std::vector<SourceId> sources_in(const std::vector<RecordedSlice>& slices) {
  std::vector<SourceId> all;
  for (const RecordedSlice& slice : slices) {
    const std::size_t known = all.size();
    for (const RecordedFragment& fragment : slice.fragments) all.push_back(fragment.source);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(known);
    std::sort(middle, all.end());
    std::inplace_merge(all.begin(), middle, all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  return all;
}

}  // namespace weir::ingest
