#pragma once

#include <weir/steps/step_watch.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace weir::steps {

// The farm's view of its sources.
struct Judgement {
  std::vector<Slipped> named;  // ascending
  // All sources slip alike: the triggers do, and no source is treated for it.
  bool triggers = false;
  bool operator==(const Judgement&) const = default;
};

// Judges what all readouts have found. `compared`: all sources with a counter or time
// that is compared; `slipped`: the misfits among them; both ascend. If all but one slip alike, that one is
// out of step, the other way.
[[nodiscard]] Judgement judge(std::span<const SourceId> compared, std::span<const Slipped> slipped);

// Returns "source 3 out of step by -1 since slice 4711", or "... in time since slice 4711" for an unknown
// slip.
[[nodiscard]] std::string sentence(const Slipped& one);
// Returns the sentences of at most `most` sources, and the number of others.
[[nodiscard]] std::string sentences(std::span<const Slipped> all, std::size_t most);

}  // namespace weir::steps
